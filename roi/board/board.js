// The board in the browser: takes over the page that roi/board/page.py rendered. The model's `evaluate` and the amounts stand above
// in the same module. Two hosts: `mountPages` for a page on its own, `render` for the widget.

const fill = (sentence, words) => sentence.replace(/\{(\w+)\}/g, (_, name) => words[name]);
const monthsOf = (horizon) => Array.from({ length: horizon + 1 }, (_, month) => month);
const countMonths = (count) => `${figures(count)} month${count === 1 ? "" : "s"}`;
const nextFrame = (work) => requestAnimationFrame(work);
const DETAILS_AFTER = 100; // milliseconds

// --- what is asked of the model ---------------------------------------------------------------------------------------------

const FLEETS = ["baseline", "proposed"];
const siteNumbers = (site) => ({ ...site.numbers, is_proposed: FLEETS.indexOf(site.fleet) });
const solve = (numbers, sites) => evaluate(numbers, sites.map(siteNumbers), monthsOf(numbers.horizon));

// Net gain at each value of one input, all others as they are.
function netGains(state, name, values) {
  const months = monthsOf(name === "horizon" ? Math.max(...values) : state.numbers.horizon);
  return simulate(state.numbers, state.sites.map(siteNumbers), months, [{ name, site: 0, values: Float64Array.from(values) }]).net_gain;
}

// The crossing of one input nearest to its present value, as roi/breakeven.py finds it.
function nearestCrossing(data, state, name) {
  const now = state.numbers[name], points = data.grids[name], gains = netGains(state, name, points);
  const found = [];
  for (let index = 1; index < points.length; index++) {
    const left = gains[index - 1] >= 0;
    if (gains[index] >= 0 === left) continue;
    const gainsAt = (values) => netGains(state, name, values);
    found.push(data.inputs[name].whole ? points[index] : narrowed(gainsAt, points[index - 1], points[index], left));
  }
  return found.length ? found.reduce((best, value) => (Math.abs(value - now) < Math.abs(best - now) ? value : best)) : null;
}

// Sixteenths instead of halves, since the gains at fifteen values take little longer than at one; 16 ** 15 is 2 ** 60.
function narrowed(gainsAt, low, high, left) {
  for (let round = 0; round < 15; round++) {
    const inner = Array.from({ length: 15 }, (_, part) => low + (high - low) * (part + 1) / 16);
    const turn = gainsAt(inner).findIndex((gain) => gain >= 0 !== left);
    [low, high] = turn < 0 ? [inner[14], high] : [turn ? inner[turn - 1] : low, inner[turn]];
  }
  return (low + high) / 2;
}

// --- how the answer reads, as in roi/words.py -------------------------------------------------------------------------------

function showLine(data, values, name) {
  const value = values[name], unit = data.lines[name].unit, say = data.sentences;
  if (Number.isNaN(value)) return say.undefined;
  if (name.startsWith("payback_")) {
    if (value === Infinity) return fill(say.never_month, { horizon: countMonths(values.horizon) });
    return value ? fill(say.month, { month: halfUp(value, 1).toFixed(1) }) : say.no_cash_out;
  }
  return unit === "USD" ? money(value) : quantity(value, unit);
}

function conditionSentence(data, state, values) {
  const gains = values.net_gain >= 0;
  for (const name of data.asked) {
    const value = nearestCrossing(data, state, name);
    if (value === null) continue;
    const row = data.inputs[name];
    const shown = quantity(value, row.display_unit);
    return fill(data.sentences[gains ? "stops" : "starts"], {
      condition: value < values[name] ? row.less : row.more,
      value: row.unit.startsWith("USD") ? shown.split("/")[0] : shown,
    });
  }
  return data.sentences.firm;
}

function answerSentence(data, values) {
  const first = values.payback_month, gain = values.net_gain;
  const key = !first ? (gain ? "at_once" : "even") : first === Infinity ? "never" : gain >= 0 ? "pays" : "relapses";
  return fill(data.sentences[key], {
    month: Number.isFinite(first) ? figures(Math.floor(first + 0.5)) : "", gain: money(gain), horizon: countMonths(values.horizon),
  });
}

// What moves the answer, as in roi/drivers.py; `order` keeps the inputs where they were while a slider moves.
function driversOf(data, state, plausible, order) {
  const found = data.main.filter((name) => plausible[name]).map((name) => {
    const [low, high] = plausible[name], [atLow, atHigh] = netGains(state, name, plausible[name]);
    return { name, low, high, atLow, atHigh };
  });
  const swing = ({ atLow, atHigh }) => Math.abs(atHigh - atLow);
  const place = order && new Map(order.map((name, index) => [name, index]));
  return found.sort(place ? (a, b) => place.get(a.name) - place.get(b.name) : (a, b) => swing(b) - swing(a));
}

function flipWords(data, state, name, value) {
  const say = data.sentences, row = data.inputs[name];
  if (value === null) return say.flips_nowhere;
  const sentence = value < state.numbers[name] ? say.flips_below : row.whole ? say.flips_from : say.flips_above;
  return fill(sentence, { value: quantity(value, row.display_unit) });
}

// The draws of a proposal's uncertain facts, as roi/simulate.py packed them: two bytes for each, the low one first.
function unpacked(data, proposal) {
  return proposal.odds.map(({ name, low, high, draws }) => {
    const bytes = Uint8Array.from(atob(draws), (character) => character.charCodeAt(0));
    return Float64Array.from({ length: bytes.length / 2 }, (_, draw) => {
      const value = low + (bytes[2 * draw] + 256 * bytes[2 * draw + 1]) * (high - low) / data.steps;
      return data.inputs[name].whole ? Math.floor(value + 0.5) : value;
    });
  });
}

// The odds over these draws, as in roi/simulate.py; null where nothing is uncertain. An input that was moved takes its draws along.
function simulationOf(data, state, proposal, draws) {
  if (!draws.length) return null;
  const drawn = proposal.odds.flatMap(({ name, columns, moves }, fact) => columns.map((site, index) => {
    const { axis, range } = data.inputs[name];
    const numbers = ({ numbers, sites }) => (axis === "scalar" ? numbers : sites[site].numbers);
    const move = moves[index] + (numbers(state)[name] - numbers(proposal)[name]);
    const moved = (value) => Math.min(Math.max(value + move, range[0]), range[1]);
    return { name, site, values: move ? draws[fact].map(moved) : draws[fact] };
  }));
  const months = monthsOf(state.numbers.horizon);
  const { net_gain: gains, peak_cash_out: peaks, cumulative } = simulate(state.numbers, state.sites.map(siteNumbers), months, drawn);
  const losses = gains.filter((gain) => gain < 0), [p05, p10, p90] = quantiles(gains.slice(), [0.05, 0.1, 0.9]);
  const inMonth = new Float64Array(gains.length);
  return {
    draws: gains.length, p_gain: gains.filter((gain) => gain > 0).length / gains.length, p05, p10, p90,
    peak_cash_out_p90: quantiles(peaks, [0.9])[0],
    expected_loss: losses.length ? -losses.reduce((sum, loss) => sum + loss, 0) / losses.length : 0,
    fan: months.map((month) => {
      for (let draw = 0; draw < inMonth.length; draw++) inMonth[draw] = cumulative[draw * months.length + month];
      const [low, high] = quantiles(inMonth, [0.1, 0.9]);
      return { month, low, high };
    }),
  };
}

// Quantiles at ascending shares, in a straight line between neighbours as NumPy has them. Puts the values in another order.
function quantiles(values, shares) {
  let sorted = 0; // values before this index are no larger than those from it on
  return shares.map((share) => {
    const at = (values.length - 1) * share, below = Math.floor(at);
    const low = smallest(values, below, sorted), high = smallest(values, Math.ceil(at), below);
    sorted = below;
    return low + (at - below) * (high - low);
  });
}

// The value that would stand at an index if all from the index `left` on were sorted, found by Hoare's selection: it sorts no more
// than it must. What is smaller then stands before it, and what is larger behind it.
function smallest(values, index, left) {
  let right = values.length - 1;
  while (left < right) {
    const pivot = values[(left + right) >> 1];
    let i = left, j = right;
    while (i <= j) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i > j) break;
      [values[i], values[j]] = [values[j], values[i]];
      i++;
      j--;
    }
    if (index <= j) right = j;
    else if (index >= i) left = i;
    else break;
  }
  return values[index];
}

function oddsSentence(data, simulation) {
  const say = data.sentences;
  if (!simulation) return say.no_odds;
  const { draws, p_gain: share, p10, p90, expected_loss: loss } = simulation;
  const odds = share >= 0.95 ? say.nearly_sure : share < 0.05 ? say.hardly_ever : fill(say.in_ten, { count: Math.floor(share * 10 + 0.5) });
  const sentence = fill(say.odds, { odds, share: `${halfUp(share * 100, 0)} %`, draws: grouped(draws, 0), low: money(p10), high: money(p90) });
  return loss ? `${sentence} ${fill(say.if_it_loses, { loss: money(loss) })}` : sentence;
}

function returnsSentence(data, values) {
  const { payback_month: first, payback_sustained: last } = values, month = (value) => halfUp(value, 1).toFixed(1);
  const key = !first ? "returns_at_once" : first === Infinity ? "returns_never" : last === Infinity ? "returns_then_falls"
    : first === last ? "returns_once" : "returns";
  return fill(data.sentences[key], { first: month(first), last: month(last), horizon: countMonths(values.horizon) });
}

const verdictOf = (data, state, values) => `${answerSentence(data, values)} ${conditionSentence(data, state, values)}`;

function flagSentences(data, state, values) {
  const sentences = [];
  for (const [name, line] of Object.entries(data.lines)) {
    if (!line.flag) continue;
    [values[name]].flat().forEach((raised, index) => {
      if (!raised) return;
      const words = { site: state.sites[index].region };
      for (const [, used] of line.flag.matchAll(/\{(\w+)\}/g)) {
        if (used === "site") continue;
        const value = Array.isArray(values[used]) ? values[used][index] : values[used];
        words[used] = quantity(value, data.inputs[used] ? data.inputs[used].display_unit : data.lines[used].unit);
      }
      sentences.push(fill(line.flag, words));
    });
  }
  return sentences;
}

// --- the rows of the charts, as in roi/charts.py ----------------------------------------------------------------------------

const CHARTS = {
  tornado: swingRows,
  cumulative: (data, values, drivers, simulation) => ({
    months: values.cumulative.map((cash, month) => ({ month, cumulative: cash, text: `month ${month}: ${money(cash)}` })),
    payback: values.payback_month > 0 && values.payback_month < Infinity
      ? [{ month: values.payback_month, zero: 0, text: showLine(data, values, "payback_month") }] : [],
    fan: simulation ? simulation.fan : [],
  }),
  bridge: (data, values) => ({
    parts: data.bridge.map(({ line, label, sign }) => {
      const amount = sign ? sign * values[line] : values[line];
      return { label, amount, signed: sign ? amount : 0, kind: !sign ? "total" : sign > 0 ? "gain" : "loss", text: money(amount) };
    }),
  }),
};

// The net gain at both ends of each driver's range.
function swingRows(data, values, drivers) {
  const swings = drivers.map(({ name, low, high, atLow, atHigh }, rank) => {
    const row = data.inputs[name], lowText = quantity(low, row.display_unit), highText = quantity(high, row.display_unit);
    const [left, right] = atLow <= atHigh ? [lowText, highText] : [highText, lowText];
    return { label: row.label, rank, at_low: atLow, at_high: atHigh, left_text: left, right_text: right,
      text: `${lowText}: ${money(atLow)}; ${highText}: ${money(atHigh)}` };
  });
  return { swings, present: [{ net_gain: values.net_gain }] };
}

const LIMITS = {
  tornado: ({ swings, present }) => {
    const ends = [0, ...swings.flatMap((row) => [row.at_low, row.at_high]), present[0].net_gain];
    const low = Math.min(...ends), high = Math.max(...ends), room = (high - low || 1) * 0.2;
    return { low: low - room, high: high + room };
  },
  cumulative: ({ months, fan }) => {
    const cash = [...months.map((row) => row.cumulative), ...fan.flatMap((row) => [row.low, row.high])];
    return { low: Math.min(0, ...cash), high: Math.max(0, ...cash) || 1, last: months.length - 1 };
  },
  bridge: ({ parts }) => {
    const ends = [0];
    for (const part of parts) ends.push(part.kind === "total" ? part.amount : ends[ends.length - 1] + part.signed);
    const low = Math.min(...ends), high = Math.max(...ends);
    return { low, high: high + (high - low || 1) * 0.3 };
  },
};

// --- the proposal as a file -------------------------------------------------------------------------------------------------

// A value as the file says it, of an input of which the proposal says this: null where it is left at the default.
function valueInFile(row, said, number) {
  const { file, ...kept } = said ?? {}; // what was measured is written out, since the file stays where it is
  const then = said ? said.base : row.default;
  if (number === then) return said ? kept : null;
  const spread = movedSpread(row, said ?? row.spread, number, number - then);
  const source = spread ? "set by hand in the app; its range moved along" : "set by hand in the app";
  return { base: number, ...spread, source, date: new Date().toISOString().slice(0, 10) };
}

// What is said of a spread, moved along with its base within what the input allows; null where nothing is said, or nothing is left.
function movedSpread({ range }, said, base, move) {
  const { low, high, covers, shape, values, weights } = said ?? {};
  const moved = (value) => Number(Math.min(Math.max(value + move, range[0]), range[1]).toPrecision(12));
  if (shape === "empirical") return { shape, values: values.map(moved) };
  if (shape === "discrete") {
    const shares = new Map(); // by value: at the end of the range several may meet
    values.forEach((value, index) => shares.set(moved(value), (shares.get(moved(value)) ?? 0) + weights[index]));
    return shares.size > 1 ? { shape, values: [...shares.keys()], weights: [...shares.values()] } : null;
  }
  if (low === undefined || low === null) return null;
  const ends = { low: Math.min(moved(low), base), high: Math.max(moved(high), base) };
  return ends.low === ends.high || (shape === "lognormal" && ends.low <= 0) ? null : { ...ends, covers, shape };
}

// The facts that the file has for each of the proposal's, by its path: a region that is moved away from the default that it shares
// with others becomes a fact of its own.
function factsInFile(data, proposal, state) {
  const inFile = ({ path, name, columns }) => columns.flatMap((column) => {
    const row = data.inputs[name], scalar = row.axis === "scalar", place = (of) => (scalar ? of : of.sites[column]);
    const { said, fleet, region } = place(proposal), value = valueInFile(row, said[name], place(state).numbers[name]);
    if (value === null) return [path];
    return value.values || value.low !== value.high ? [scalar ? name : `${fleet}.${region}.${name}`] : [];
  });
  return Object.fromEntries(proposal.odds.map((fact) => [fact.path, [...new Set(inFile(fact))]]));
}

const TIED = 0.999; // what are one fact here and several in the file are correlated by this; a file takes no 1

function correlationsInFile({ correlations }, facts) {
  const tie = (index) => (index ? TIED : 1);
  const between = correlations.flatMap(({ between: [first, second], coefficient, source }) =>
    facts[first].flatMap((a, i) => facts[second].map((b, j) => ({ between: [a, b], coefficient: coefficient * tie(i) * tie(j), source }))));
  const ties = Object.values(facts).flatMap((paths) => paths.flatMap((a, i) => paths.slice(i + 1).map((b) =>
    ({ between: [a, b], coefficient: TIED * tie(i), source: "one default, of which a region was moved in the app" }))));
  return [...between, ...ties];
}

// The proposal with the present numbers as YAML: its odds are those of the page, as far as a file can say them.
function yamlOf(data, proposal, state) {
  const quoted = JSON.stringify; // a JSON string is a YAML string
  const flow = (fields) => `{${Object.entries(fields).filter(([, content]) => content !== undefined)
    .map(([field, content]) => `${field}: ${field === "date" ? content : quoted(content)}`).join(", ")}}`;
  const rows = (said, numbers, indent) => Object.entries(numbers).flatMap(([name, number]) => {
    const value = valueInFile(data.inputs[name], said[name], number);
    return value ? [`${indent}${name}: ${flow(value)}`] : [];
  });
  const { name, owner, decision, said, sites, pilot, mode } = proposal;
  const lines = [`name: ${quoted(name)}`, `owner: ${quoted(owner)}`, `decision: ${quoted(decision)}`];
  if (mode) lines.push(`mode: ${flow(mode)}`);
  const section = (head, rows) => { if (rows.length) lines.push(head, ...rows); };
  section("inputs:", rows(said, state.numbers, "  "));
  for (const fleet of FLEETS) {
    lines.push(`${fleet}:`);
    sites.forEach((site, index) => {
      if (site.fleet !== fleet) return;
      const own = rows(site.said, state.sites[index].numbers, "    ");
      lines.push(`  ${quoted(site.region)}:${own.length ? "" : " {}"}`, ...own);
    });
  }
  const facts = factsInFile(data, proposal, state), measures = pilot ? pilot.measures.flatMap((path) => facts[path]) : [];
  section("correlations:", correlationsInFile(proposal, facts).map((each) => `  - ${flow(each)}`));
  if (measures.length) lines.push(`pilot: ${flow({ ...pilot, measures })}`);
  return `${lines.join("\n")}\n`;
}

// --- one board --------------------------------------------------------------------------------------------------------------

// When the browser has shown what the page holds by now; in a tab behind others, where it shows nothing, soon.
function painted() {
  return new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); setTimeout(resolve, 200); });
}

class BoardView {
  // host.readLink() -> URLSearchParams of the state; host.linkTo(params) -> address; host.changed(board, settled) after each change;
  // host.opened(board) after each page that is opened; host.fill(board, panel), where the page comes without its views, to fill the
  // one that is shown; host.selected and host.numbers, where given, are the proposal and the inputs to begin with.
  constructor(root, data, host) {
    unitWords = data.unit_words;
    this.data = data;
    this.host = host;
    this.root = root;
    this.scenarios = [];
    const link = host.readLink(); // before anything is shown, since what is shown writes the address
    this.open(host.selected ?? data.selected);
    for (const [path, value] of Object.entries(host.numbers ?? {})) this.set(path, value);
    this.applyLink(link);
  }

  get proposal() { return this.data.proposals[this.key]; }

  open(key) {
    this.key = key;
    if (this.proposal.html) this.root.innerHTML = this.proposal.html;
    this.board = this.root.querySelector(".roi-board");
    this.state = this.proposalState();
    this.draws = unpacked(this.data, this.proposal);
    this.views = {};
    this.written = {}; // the value of each input as the page shows it
    for (const action of this.all("[data-role=actions]")) action.hidden = false;
    this.listen();
    this.role("tabs").hidden = false;
    this.show(this.view ?? "decision");
    this.update({ settled: true });
    // The numbers are on the screen before the charts, which take longer, can move: until then pictures of them stand there.
    const { board } = this;
    painted().then(() => { if (board === this.board) this.mountCharts(); });
    this.host.opened?.(this);
  }

  all(selector) { return [...this.board.querySelectorAll(selector)]; }
  role(name) { return this.board.querySelector(`[data-role="${name}"]`); }

  proposalState() {
    return {
      numbers: { ...this.proposal.numbers },
      sites: this.proposal.sites.map((site) => ({ ...site, numbers: { ...site.numbers } })),
    };
  }

  // --- reading and writing one input, by path: "latency_saved" or "proposed.europe-west4.gpu_price" ---

  place(path) {
    if (this.data.inputs[path]?.axis === "scalar") return { row: this.data.inputs[path], name: path, now: this.state, then: this.proposal };
    const [fleet] = path.split(".", 1), name = path.slice(path.lastIndexOf(".") + 1);
    const region = path.slice(fleet.length + 1, path.lastIndexOf("."));
    const index = this.state.sites.findIndex((site) => site.fleet === fleet && site.region === region);
    if (index < 0 || this.data.inputs[name]?.axis !== "site") return null;
    return { row: this.data.inputs[name], name, now: this.state.sites[index], then: this.proposal.sites[index] };
  }

  paths() {
    const scalars = Object.keys(this.data.inputs).filter((name) => this.data.inputs[name].axis === "scalar");
    const siteInputs = Object.keys(this.data.inputs).filter((name) => this.data.inputs[name].axis === "site");
    return [...scalars, ...this.state.sites.flatMap((site) => siteInputs.map((name) => `${site.fleet}.${site.region}.${name}`))];
  }

  changes() {
    const changes = {};
    for (const path of this.paths()) {
      const { name, now, then } = this.place(path);
      if (now.numbers[name] !== then.numbers[name]) changes[path] = now.numbers[name];
    }
    return changes;
  }

  // Sets an input or throws an Error that says what is allowed.
  set(path, value) {
    const found = this.place(path);
    if (!found) throw new Error(`there is no input '${path}'`);
    const { row, name, now } = found;
    const inRange = value >= row.range[0] && value <= row.range[1];
    if (!inRange || (row.whole && value !== Math.floor(value))) throw new Error(`${row.label}: ${plainNumber(value)} is refused; ${row.allowed}`);
    now.numbers[name] = value;
  }

  // Typed text: understood and set, or refused with the old value kept.
  type(box) {
    const path = box.dataset.box;
    try {
      const value = parseAmount(box.value);
      this.set(path, value);
      box.setAttribute("aria-invalid", "false");
      this.notice("");
      box.value = boxed(value);
    } catch (error) {
      box.setAttribute("aria-invalid", "true");
      this.notice(`${error.message}. ${this.place(path).row.label} stays at ${this.shown(path)}.`);
    }
    this.update({ settled: true });
  }

  shown(path) {
    const { row, name, now } = this.place(path);
    return quantity(now.numbers[name], row.display_unit);
  }

  notice(message) {
    const notice = this.role("input-notice");
    notice.textContent = message;
    notice.hidden = !message;
  }

  // --- listening ---

  listen() {
    this.board.addEventListener("input", (event) => {
      const slider = event.target.closest("input[type=range]");
      if (slider) this.guard(() => this.slide(slider, false));
    });
    this.board.addEventListener("change", (event) => {
      const { target } = event;
      if (target.matches("input[type=range]")) this.guard(() => this.slide(target, true));
      else if (target.matches("input[data-box]")) this.guard(() => this.type(target));
      else if (target.matches("select[name=proposal]")) this.guard(() => this.choose(target.value));
    });
    this.board.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.dataset.explain) this.guard(() => this.explain(button.dataset.explain));
      else if (button?.dataset.view) this.guard(() => this.show(button.dataset.view));
      else if (button?.dataset.do) this.guard(() => this.act(button.dataset.do));
      else if (button?.dataset.drop) this.guard(() => { this.scenarios.splice(Number(button.dataset.drop), 1); this.showScenarios(); });
      if (button || !event.target.closest(".menu")) for (const menu of this.all(".menu[open]")) menu.open = false;
    });
    this.role("tabs").addEventListener("keydown", (event) => {
      const tabs = this.all("[role=tab]"), now = tabs.indexOf(document.activeElement);
      const next = { ArrowRight: (now + 1) % tabs.length, ArrowLeft: (now - 1 + tabs.length) % tabs.length, Home: 0, End: tabs.length - 1 }[event.key];
      if (now < 0 || next === undefined) return;
      event.preventDefault();
      tabs[next].focus();
      this.guard(() => this.show(tabs[next].dataset.view));
    });
  }

  // Other proposals in the place of those of the same keys, such as one with evidence in it: what the reader changed stays, where
  // the proposal's own number is as it was.
  replace(data) {
    const changes = Object.entries(this.changes()).map(([path, value]) => [path, value, this.own(path)]);
    this.data = { ...data, proposals: { ...this.data.proposals, ...data.proposals } };
    this.open(this.key);
    for (const [path, value, was] of changes) if (this.own(path) === was) this.set(path, value);
    this.update({ settled: true });
  }

  // The proposal's own number of an input.
  own(path) {
    const { name, then } = this.place(path);
    return then.numbers[name];
  }

  // --- the views beside the decision ---

  show(name) {
    this.view = name;
    for (const tab of this.all("[role=tab]")) {
      const chosen = tab.dataset.view === name;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
    }
    for (const panel of this.all("[role=tabpanel]")) panel.hidden = panel.dataset.panel !== name;
    this.fill();
  }

  // Where a server computes the views, the one that is shown follows the inputs.
  fill() {
    if (this.view !== "decision") this.host.fill?.(this, this.all(`[data-panel="${this.view}"]`)[0]);
  }

  // One entry for everything that a reader does: what fails is logged and said in a sentence, and the last good state stays.
  guard(work) {
    try {
      work();
    } catch (error) {
      console.warn(error);
      this.notice(`That did not work (${error.message}). The numbers shown are the last good ones.`);
    }
  }

  slide(slider, settled) {
    const row = this.data.inputs[slider.name], [low, , step] = row.slider;
    // Steps count from the slider's low end; a value off the steps, such as the proposal's own, is kept until it is moved.
    const raw = Number(slider.value);
    const stepped = Number((low + Math.round((raw - low) / step) * step).toPrecision(12));
    this.set(slider.name, Math.min(Math.max(stepped, row.range[0]), row.range[1]));
    this.notice("");
    if (settled) this.update({ settled: true });
    else this.soon();
  }

  // At once for the first move in a frame; further moves in the same frame wait for the next.
  soon() {
    this.moved = true;
    if (this.waiting) return;
    this.waiting = true;
    this.moved = false;
    nextFrame(() => {
      this.waiting = false;
      if (this.moved) this.soon();
    });
    this.guard(() => this.update({ settled: false }));
  }

  // The tables, a moment after the last change, so that they hold up neither a key that is held down nor the headline.
  showDetailsLater() {
    clearTimeout(this.detailed);
    this.detailed = setTimeout(() => this.guard(() => this.showDetails(this.values)), DETAILS_AFTER);
  }

  choose(key) {
    this.open(key);
    this.notice("");
    this.host.changed(this);
  }

  act(what) {
    if (what === "reset") { this.state = this.proposalState(); this.notice(""); this.update({ settled: true }); }
    if (what === "share") this.share();
    if (what === "keep") this.keepScenario();
    if (what === "yaml") download(`${this.key}.yaml`, "application/yaml", yamlOf(this.data, this.proposal, this.state));
    if (what === "json") download(`${this.key}.json`, "application/json", this.json());
    if (what === "csv") download(`${this.key}-months.csv`, "text/csv", this.csv());
  }

  // --- showing ---

  update({ settled }) {
    const { data, state } = this;
    const values = solve(state.numbers, state.sites);
    this.values = values;
    for (const element of this.all("[data-line]")) {
      element.textContent = showLine(data, values, element.dataset.line);
      element.classList.toggle("long", element.textContent.length > 11);
      const signed = ["net_gain", "npv"].includes(element.dataset.line);
      element.classList.toggle("gain", signed && values[element.dataset.line] > 0);
      element.classList.toggle("loss", signed && values[element.dataset.line] < 0);
    }
    for (const element of this.all('[data-label="npv"]')) element.textContent = `NPV at ${quantity(state.numbers.discount_rate, "%")}`;
    this.showVersus(values);
    this.showInputs(settled);
    this.role("verdict").textContent = verdictOf(data, state, values);
    this.showFlags(values);
    this.drivers = driversOf(data, state, this.proposal.plausible, settled ? null : this.drivers.map((driver) => driver.name));
    this.simulation = simulationOf(data, state, this.proposal, this.draws);
    this.role("odds").textContent = oddsSentence(data, this.simulation);
    this.showReasons(values);
    this.showCharts(values, settled);
    if (settled) {
      this.showDetailsLater();
      this.fill();
    }
    this.showScenarios();
    this.host.changed(this, settled);
  }

  showReasons(values) {
    const say = this.data.sentences, found = this.simulation;
    this.role("worst").textContent = found ? fill(say.worst, { worst: money(found.p05) }) : say.no_odds;
    this.role("cash_out").textContent = found ? fill(say.cash_out, { peak: money(found.peak_cash_out_p90) }) : "";
    this.role("returns").textContent = returnsSentence(this.data, values);
    for (const element of this.all("[data-money]")) element.textContent = money(values[element.dataset.money]);
  }

  showVersus(values) {
    for (const element of this.all("[data-versus]")) {
      const other = element.dataset.versus === "nothing" ? 0 : this.alternativeGain();
      const difference = values.net_gain - other;
      element.textContent = (difference > 0 ? "+" : "") + money(difference);
      element.classList.toggle("gain", difference > 0);
      element.classList.toggle("loss", difference < 0);
    }
  }

  // The alternative in this board's world: what its own file does not set is as it is here.
  alternativeGain() {
    const { said, numbers, sites } = this.data.alternative;
    const shared = Object.fromEntries(Object.entries(this.state.numbers).filter(([name]) => !(name in said)));
    return solve({ ...numbers, ...shared }, sites).net_gain;
  }

  // While a slider moves, only what moved is written.
  showInputs(settled) {
    for (const path of this.paths()) {
      const { row, name, now, then } = this.place(path);
      const value = now.numbers[name], changed = value !== then.numbers[name];
      if (!settled && this.written[path] === value) continue;
      this.written[path] = value;
      for (const element of this.elements(path)) {
        if (element.matches("input[type=range]")) {
          element.min = Math.min(row.slider[0], value, then.numbers[name]);
          element.max = Math.max(row.slider[1], value, then.numbers[name]);
          element.value = value;
          element.setAttribute("aria-valuetext", quantity(value, row.display_unit));
        } else if (element.matches("input")) {
          if (document.activeElement !== element || element.getAttribute("aria-invalid") !== "true") element.value = boxed(value);
          element.closest("td")?.classList.toggle("is-changed", changed);
          if (element.closest("td")) element.title = changed ? `was ${quantity(then.numbers[name], row.display_unit)}` : "";
        } else if (element.matches("[data-was]")) {
          element.textContent = changed ? `was ${quantity(then.numbers[name], row.display_unit)}` : "";
          element.closest("[data-input]").classList.toggle("is-changed", changed);
        } else if (element.matches("[data-source]")) {
          element.dataset.original ??= element.innerHTML;
          if (changed) element.textContent = `set by hand; the proposal has ${quantity(then.numbers[name], row.display_unit)}`;
          else element.innerHTML = element.dataset.original;
        } else {
          element.textContent = quantity(value, row.display_unit);
          element.classList.toggle("is-changed", changed);
        }
      }
    }
    const count = Object.keys(this.changes()).length, changed = this.role("changed");
    changed.hidden = !count;
    this.role("recommendation").classList.toggle("own", count > 0);
    for (const note of this.all("[data-role=own]")) note.hidden = !count;
    changed.textContent = count ? `${count} input${count === 1 ? "" : "s"} changed from the proposal; the recommendation is for its own numbers.` : "";
    if (!count) for (const box of this.all('[aria-invalid="true"]')) box.setAttribute("aria-invalid", "false");
  }

  // All elements that show one input; looked up once for each page.
  elements(path) {
    if (this.indexed !== this.board) {
      this.indexed = this.board;
      this.index = {};
      const add = (key, element) => (this.index[key] ??= []).push(element);
      for (const element of this.all("input[type=range]")) add(element.name, element);
      for (const kind of ["box", "shown", "was", "source"]) {
        for (const element of this.all(`[data-${kind}]`)) add(element.dataset[kind], element);
      }
    }
    return this.index[path] ?? [];
  }

  // What the inputs say against the proposal's mode.
  modeFlags() {
    return this.proposal.rules.filter(({ path, value, equal }) => {
      const { name, now } = this.place(path);
      return (now.numbers[name] === value) !== equal;
    }).map(({ sentence }) => sentence);
  }

  showFlags(values) {
    const section = this.role("flags");
    const sentences = [...flagSentences(this.data, this.state, values), ...this.shareFlags(values), ...this.modeFlags(), ...this.proposal.flags];
    const text = sentences.join("\n");
    if (section.dataset.text === text) return;
    section.dataset.text = text;
    section.hidden = !sentences.length;
    section.querySelector("ul").replaceChildren(...sentences.map((sentence) => element("li", sentence)));
  }

  shareFlags(values) {
    return FLEETS.filter((fleet) => Math.abs(values[`${fleet}_share_total`] - 1) > 1e-9).map(
      (fleet) => `The shares of the ${fleet} fleet sum to ${figures(values[`${fleet}_share_total`])}, not 1: the bills below are wrong until they do.`);
  }

  showDetails(values) {
    for (const cell of this.all("[data-value]")) cell.textContent = quantity(values[cell.dataset.value], this.data.lines[cell.dataset.value].unit);
    for (const cell of this.all("[data-site-line]")) {
      const [name, index] = cell.dataset.siteLine.split(".");
      cell.textContent = money(values[name][index]);
    }
    const passed = this.data.checks.filter((name) => Math.abs(values[name]) < 0.005).length;
    this.showDrivers();
    this.role("checks").textContent = `${passed} of ${this.data.checks.length}`;
  }

  showDrivers() {
    const { data, state } = this, found = this.drivers.map((driver) => ({ ...driver, value: nearestCrossing(data, state, driver.name) }));
    this.showDeciders(found);
    this.role("drivers").replaceChildren(...found.map(({ name, low, high, atLow, atHigh, value }) => {
      const row = element("tr"), head = element("th", data.inputs[name].label);
      const shown = (number) => quantity(number, data.inputs[name].display_unit);
      head.scope = "row";
      // Of two dollar amounts only the second says per what, of two others only the second has the unit.
      const first = data.inputs[name].unit.startsWith("USD") ? shown(low).split("/")[0] : shown(low).split(" ")[0];
      const cells = [shown(state.numbers[name]), flipWords(data, state, name, value), `${first} to ${shown(high)}`, money(atLow), money(atHigh)]
        .map((text) => { const cell = element("td", text); cell.className = "number"; return cell; });
      cells[1].classList.toggle("within", value !== null && low <= value && value <= high);
      row.append(head, ...cells);
      return row;
    }));
  }

  // The inputs that move the answer most, with where the value of each comes from.
  showDeciders(found) {
    const { data, state, proposal } = this;
    this.role("deciders").replaceChildren(...found.slice(0, data.deciders).map(({ name, value }) => {
      const now = quantity(state.numbers[name], data.inputs[name].display_unit), item = element("li");
      const moved = state.numbers[name] !== proposal.numbers[name];
      const source = moved ? `set by hand; the proposal has ${quantity(proposal.numbers[name], data.inputs[name].display_unit)}` : proposal.assumed[name];
      const words = fill(value === null ? data.sentences.decides_never : data.sentences.decides, { now, flips: flipWords(data, state, name, value) });
      item.append(element("strong", data.inputs[name].label), ` ${words} `, element("small", source));
      return item;
    }));
  }

  // --- charts: embedded once, then fed ---

  mountCharts() {
    Promise.all(this.all("[data-chart]").map(async (holder) => {
      const name = holder.dataset.chart, rows = CHARTS[name](this.data, this.values, this.drivers, this.simulation), limits = LIMITS[name](rows);
      const specification = {
        ...this.data.charts[name], datasets: { ...this.data.charts[name].datasets, ...rows },
        params: this.data.charts[name].params.map((param) => ({ ...param, value: limits[param.name] })),
      };
      const target = document.createElement("div");
      target.style.width = `${holder.clientWidth}px`;
      target.style.position = "absolute";
      target.style.visibility = "hidden";
      holder.append(target);
      // `ast` draws without generating code, so that a strict content security policy holds.
      const { view } = await window.vegaEmbed(target, specification, { actions: false, ast: true, renderer: "svg" });
      target.removeAttribute("style");
      holder.querySelector(":scope > svg")?.remove();
      this.views[name] = { view, limits };
      view.resize();
      this.showCharts(this.values, true);
    })).catch((error) => {
      console.warn(error);
      this.notice("The charts cannot move here; they show the proposal's own numbers.");
    });
  }

  showCharts(values, settled) {
    for (const [name, drawn] of Object.entries(this.views)) {
      const rows = CHARTS[name](this.data, values, this.drivers, this.simulation);
      // Scales hold still while a slider moves and fit again when it is let go.
      if (settled || rows.months?.length - 1 !== drawn.limits.last) {
        drawn.limits = settled ? LIMITS[name](rows) : { ...drawn.limits, last: LIMITS[name](rows).last };
        for (const [signal, value] of Object.entries(drawn.limits)) if (value !== undefined) drawn.view.signal(signal, value);
      }
      for (const [set, content] of Object.entries(rows)) drawn.view.data(set, content);
      drawn.view.runAsync();
    }
  }

  // --- where a number comes from ---

  explain(name) {
    const dialog = this.role("explanation");
    const close = element("button", "Close");
    close.type = "button";
    close.addEventListener("click", () => dialog.close());
    const list = document.createElement("ul");
    list.append(this.explanation(name));
    dialog.replaceChildren(close, element("h2", "Where this number comes from"), list);
    dialog.showModal();
  }

  explanation(name) {
    const line = this.data.lines[name], row = this.data.inputs[name], value = this.values[name], item = document.createElement("li");
    const unit = line ? line.unit : row ? row.display_unit : "1";
    const shown = Array.isArray(value)
      ? (value.length ? `${quantity(value[0], unit)} to ${quantity(value[value.length - 1], unit)}` : "")
      : quantity(value, unit);
    item.append(element("span", `${line?.label ?? row?.label ?? name}: `), element("strong", shown));
    if (!line) return item;
    item.append(element("code", `${name} = ${line.formula}`));
    const parts = document.createElement("ul");
    for (const argument of line.arguments) {
      const part = this.explanation(argument);
      if (this.data.lines[argument]) {
        const folded = document.createElement("details"), summary = document.createElement("summary");
        summary.append(...[...part.childNodes].slice(0, 2));
        folded.append(summary, ...part.childNodes);
        part.replaceChildren(folded);
      }
      parts.append(part);
    }
    item.append(parts);
    return item;
  }

  // --- scenarios side by side ---

  keepScenario() {
    if (this.scenarios.length === 3) return this.notice("Three scenarios are kept already; remove one first.");
    const changes = this.changes();
    const proposed = Object.keys(changes).length
      ? Object.entries(changes).slice(0, 2).map(([path]) => `${this.place(path).row.label} ${this.shown(path)}`).join(", ")
      : this.proposal.name;
    const name = window.prompt("Name of the scenario", proposed);
    if (name === null) return undefined;
    this.scenarios.push({ name: name.trim() || proposed, key: this.key, values: this.values });
    this.showScenarios();
    this.role("scenarios").scrollIntoView({ block: "nearest" });
    return undefined;
  }

  showScenarios() {
    const section = this.role("scenarios"), kept = this.scenarios;
    section.hidden = !kept.length;
    if (!kept.length) return;
    const head = element("tr"), present = { name: "Now", values: this.values };
    head.append(element("th", "Line"));
    kept.forEach((scenario, index) => {
      const cell = element("th", scenario.name), drop = element("button", "Remove");
      drop.type = "button";
      drop.dataset.drop = index;
      cell.append(" ", drop);
      head.append(cell);
    });
    head.append(element("th", "Now"), element("th", `Now less ${kept[0].name}`));
    const rows = this.data.scenario_lines.map((name) => {
      const row = element("tr"), label = element("th", this.data.lines[name].label);
      label.scope = "row";
      row.append(label, ...[...kept, present].map(({ values }) => element("td", showLine(this.data, values, name))));
      row.append(element("td", this.difference(name, present.values[name] - kept[0].values[name])));
      return row;
    });
    const body = document.createElement("tbody"), top = document.createElement("thead");
    top.append(head);
    body.append(...rows);
    this.role("scenario-table").replaceChildren(top, body);
  }

  difference(name, value) {
    if (!Number.isFinite(value)) return "not defined";
    const unit = this.data.lines[name].unit;
    const shown = unit === "USD" ? money(value) : quantity(unit === "month" ? Math.sign(value) * halfUp(Math.abs(value), 1) : value, unit);
    return (value > 0 ? "+" : "") + shown;
  }

  // --- links and files ---

  link() {
    const params = new URLSearchParams({ proposal: this.key });
    for (const [path, value] of Object.entries(this.changes())) params.set(path, plainNumber(value));
    return this.host.linkTo(params);
  }

  applyLink(params) {
    const refused = [];
    const asked = params.get("proposal");
    if (asked && this.data.proposals[asked]) { if (asked !== this.key) this.open(asked); }
    else if (asked) refused.push(`there is no proposal '${asked}' here`);
    for (const [path, text] of params) {
      if (path === "proposal" || path === "token" || path.startsWith("voila-")) continue;
      try {
        this.set(path, parseAmount(text));
      } catch (error) {
        refused.push(error.message);
      }
    }
    if (refused.length) this.notice(`The link asks for what cannot be shown: ${refused.join("; ")}. The proposal's own numbers stand instead.`);
    this.update({ settled: true });
  }

  async share() {
    const address = this.link();
    try {
      await navigator.clipboard.writeText(address);
      this.notice("The link to exactly these numbers is copied.");
    } catch {
      this.notice(`Copy this link to exactly these numbers: ${address}`);
    }
  }

  json() {
    const lines = {}, months = {};
    for (const [name, { axis }] of Object.entries(this.data.lines)) {
      if (axis === "scalar") lines[name] = Number.isFinite(this.values[name]) ? this.values[name] : null;
      if (axis === "month") months[name] = this.values[name].map((value) => (Number.isFinite(value) ? value : null));
    }
    const inputs = { ...this.state.numbers };
    const sites = this.state.sites.map(({ fleet, region, numbers }) => ({ fleet, region, ...numbers }));
    return `${JSON.stringify({ proposal: this.key, version: this.data.version, inputs, sites, lines, months }, null, 2)}\n`;
  }

  csv() {
    const names = Object.keys(this.data.lines).filter((name) => this.data.lines[name].axis === "month");
    const rows = this.values.month.map((month) => [month, ...names.map((name) => (Number.isFinite(this.values[name][month]) ? this.values[name][month] : ""))]);
    return [["month", ...names], ...rows].map((row) => row.join(",")).join("\n") + "\n";
  }
}

function element(tag, text = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

function download(name, type, text) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(new Blob([text], { type }));
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

// --- hosts ------------------------------------------------------------------------------------------------------------------

// A page on its own keeps its state in the fragment of its address.
function mountPages() {
  for (const page of document.querySelectorAll(".roi-page")) {
    if (page.dataset.mounted) continue;
    page.dataset.mounted = "yes";
    const data = JSON.parse(page.parentNode.querySelector(".roi-data").textContent);
    const view = new BoardView(page, data, {
      readLink: () => new URLSearchParams(location.hash.slice(1)),
      linkTo: (params) => `${location.href.split("#")[0]}#${params}`,
      changed: (board, settled) => {
        if (!settled || !board.values) return;
        const changed = Object.keys(board.changes()).length;
        if (changed || location.hash) history.replaceState(null, "", changed ? board.link() : location.href.split("#")[0]);
      },
    });
    addEventListener("beforeprint", () => view.showDetails(view.values));
    addEventListener("hashchange", () => {
      view.state = view.proposalState();
      view.applyLink(new URLSearchParams(location.hash.slice(1)));
    });
  }
}

const PING_EVERY = 2_000, SILENT_AFTER = 6_000, FILL_AFTER = 50;

// The app keeps its state in the query of its address, but for what is the server's own.
const APP = {
  readLink: () => new URLSearchParams(location.search),
  linkTo: (params) => {
    const address = new URL(location.href);
    const token = address.searchParams.get("token");
    if (token) params.set("token", token);
    address.search = params;
    return address.href;
  },
};

function keepInAddress(board, settled) {
  if (settled && board.values) history.replaceState(null, "", board.link());
}

let app = null; // the app's board: it opens before its kernel answers

// Opens the board of the app on what the server holds of the shipped proposals, and tells the server, which then lets the kernel
// have the processors.
function openApp(data) {
  const place = document.querySelector("[data-roi-app]"), root = place.querySelector(":scope > div") ?? document.createElement("div");
  try {
    if (!root.isConnected) place.append(element("style", data.style), root);
    const fill = (board, panel) => panel.replaceChildren(element("p", "Waiting for the server"));
    app = new BoardView(root, data, { ...APP, fill, changed: keepInAddress });
  } catch (error) {
    console.warn(error); // the kernel brings a board of its own
    root.remove();
  }
  painted().then(() => fetch(place.dataset.roiApp, { method: "POST" })).catch((error) => console.warn(error));
}

// The widget: inputs are traits of the model, and the kernel is asked whether it is still there. In the app it takes over the board
// that is open already.
async function render({ model, el }) {
  let speaking = true; // until the board shows what the model holds
  let asked = null, asking; // where the view goes that is waited for, and the timer that asks for it
  const ownPage = document.querySelector("[data-roi-app]") !== null;
  const intake = new Intake(model);
  const host = {
    ...APP,
    ...(ownPage ? {} : { readLink: () => new URLSearchParams() }),
    opened: (board) => intake.mount(board),
    fill: (board, panel) => {
      if (!panel.childElementCount) panel.append(element("p", "Computing"));
      asked = panel;
      clearTimeout(asking);
      asking = setTimeout(() => model.send({ kind: "view", name: board.view, proposal: board.key, changes: board.changes() }), FILL_AFTER);
    },
    changed: (board, settled) => {
      if (!board.values) return;
      tell(board);
      if (ownPage) keepInAddress(board, settled);
    },
  };
  const open = app;
  const brought = Object.keys(model.get("data")).length > 0;
  if (!brought && !open) await new Promise((resolve) => { model.on("change:data", resolve); model.send({ kind: "data" }); });
  const view = brought || !open ? own() : open;
  const scalars = Object.keys(view.data.inputs).filter((name) => view.data.inputs[name].axis === "scalar");
  if (view === open) takeOver();
  speaking = false;
  tell(view);

  // A board of the widget's own, with what its notebook has set.
  function own() {
    open?.root.remove();
    const data = model.get("data");
    const numbers = Object.fromEntries(Object.keys(data.inputs).filter((name) => data.inputs[name].axis === "scalar").map((name) => [name, model.get(name)]));
    return new BoardView(el, data, { ...host, selected: model.get("proposal"), numbers: { ...numbers, ...model.get("sites") } });
  }

  // What the notebook set stands, but for what the reader or the link has set since.
  function takeOver() {
    const { numbers } = view.proposal;
    for (const name of scalars) {
      if (model.get(name) !== numbers[name] && view.state.numbers[name] === numbers[name]) view.set(name, model.get(name));
    }
    view.host = host;
    intake.mount(view);
    view.update({ settled: true });
  }

  function tell(board) {
    if (speaking) return;
    speaking = true;
    const changes = board.changes();
    if (model.get("proposal") !== board.key) model.set("proposal", board.key);
    for (const [name, value] of Object.entries(board.state.numbers)) if (model.get(name) !== value) model.set(name, value);
    const sites = Object.fromEntries(Object.entries(changes).filter(([path]) => path.includes(".")));
    if (JSON.stringify(model.get("sites")) !== JSON.stringify(sites)) model.set("sites", sites);
    try {
      model.save_changes();
    } catch (error) {
      console.warn(error); // the kernel is gone: the board goes on, and the watch below says so
    }
    speaking = false;
  }

  // A notebook that sets a trait moves the board.
  for (const name of scalars) {
    model.on(`change:${name}`, () => {
      if (speaking || view.state.numbers[name] === model.get(name)) return;
      view.guard(() => { view.set(name, model.get(name)); view.update({ settled: true }); });
    });
  }
  model.on("change:data", () => view.guard(() => view.replace(model.get("data"))));
  model.on("change:proposal", () => { if (!speaking && model.get("proposal") !== view.key) view.choose(model.get("proposal")); });

  let heard = Date.now();
  const hear = (message) => {
    heard = Date.now();
    show(false);
    if (message.kind === "view" && message.name === asked?.dataset.panel) asked.innerHTML = message.html;
    if (message.kind === "refused") view.notice(`The server has other numbers than this page: ${message.reason}.`);
  };
  const show = (silent) => {
    const notice = view.role("server-notice");
    if (notice.hidden === !silent) return;
    notice.hidden = !silent;
    if (!silent) return;
    const again = element("a", "Open this page again with these numbers");
    again.href = view.link();
    again.addEventListener("click", () => { again.href = view.link(); });
    notice.replaceChildren("The server does not answer. Sliders, numbers and downloads go on working on this page. ", again, ".");
  };
  model.on("msg:custom", hear);
  const watch = setInterval(() => {
    try {
      model.send({ kind: "ping" });
    } catch {
      // no connection to send on: the silence shows below
    }
    if (Date.now() - heard > SILENT_AFTER) show(true);
  }, PING_EVERY);
  return () => clearInterval(watch);
}
