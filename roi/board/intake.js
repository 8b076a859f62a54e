// Evidence from files, where a kernel is there to read them: the file goes to it in pieces, and what it would change comes back.

const PIECE = 1_000_000; // bytes; a message to the kernel has to stay below ten million
const ANSWER_WITHIN = 120_000; // ms, for all of a large file to be read

class Intake {
  constructor(model) {
    this.model = model;
    this.answered = null;
    model.on("msg:custom", (message) => {
      if (["kept", "evidence", "unread"].includes(message.kind)) this.answered?.(message);
    });
  }

  // The section of a page that has just been opened.
  mount(view) {
    const section = view.role("intake"), form = view.role("intake-form");
    section.hidden = false;
    const fit = () => {
      for (const label of form.querySelectorAll("[data-for]")) label.hidden = !label.dataset.for.split(" ").includes(form.elements.reader.value);
    };
    fit();
    form.addEventListener("change", fit);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.read(view, form);
    });
    view.role("intake-found").replaceChildren(...(this.taken ? [element("p", this.taken)] : []));
    this.taken = "";
  }

  async read(view, form) {
    const found = view.role("intake-found"), button = form.querySelector("button");
    button.disabled = true;
    try {
      for (const file of form.elements.files.files) {
        for (let at = 0; at === 0 || at < file.size; at += PIECE) {
          const bytes = await file.slice(at, at + PIECE).arrayBuffer();
          await this.ask({ kind: "piece", name: file.name, first: at === 0 }, [bytes]);
          found.textContent = `${file.name}: ${Math.min(100, Math.round(((at + PIECE) / file.size) * 100))} % sent`;
        }
      }
      const { reader, where, gpu, cost, basis } = form.elements;
      const asked = { reader: reader.value, where: where.value, gpu: gpu.value, cost: cost.value, basis: basis.value };
      found.textContent = "Reading";
      this.show(found, await this.ask({ kind: "read", ...asked }));
    } catch (error) {
      found.replaceChildren(element("p", `Not read. ${error.message}`));
    }
    button.disabled = false;
  }

  // What would change, first; and below it all that was read and set aside.
  show(found, { changes, left, found: text }) {
    const list = element("ul"), details = element("details"), take = element("button", "Take over"), leave = element("button", "Leave it");
    for (const change of [...changes, ...left]) list.append(element("li", change.replace(" -> ", " \u2192 ")));
    details.append(element("summary", "What was read and what was set aside"), element("pre", text));
    for (const button of [take, leave]) button.type = "button";
    leave.addEventListener("click", () => found.replaceChildren());
    take.addEventListener("click", () => {
      this.taken = "Taken over. Download the proposal as YAML to keep it.";
      found.replaceChildren(element("p", "Taking it over"));
      this.model.send({ kind: "take" });
    });
    found.replaceChildren(element("p", "This would change:"), list, take, leave, details);
  }

  ask(message, buffers = []) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error("The server does not answer.")), ANSWER_WITHIN);
      this.answered = (answer) => {
        clearTimeout(late);
        this.answered = null;
        if (answer.kind === "unread") reject(new Error(answer.reason));
        else resolve(answer);
      };
      this.model.send(message, undefined, buffers);
    });
  }
}
