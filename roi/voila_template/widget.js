// Shows the notebook's widget when the browser has all that the kernel holds. Voila would look for it at once, for two seconds, and
// give up for good where the kernel answers just as they end.
const voila = window.jupyterapp ?? await new Promise((found) => Object.defineProperty(window, "jupyterapp", { set: found }));
const manager = await voila.widgetManagerPromise.promise;
if (!manager.restoredStatus) await new Promise((restored) => manager.restored.connect(restored));
const kind = "application/vnd.jupyter.widget-view+json";
for (const place of document.querySelectorAll("[data-widget]")) {
  const view = manager.rendermime.createRenderer(kind);
  await view.renderModel({ data: { [kind]: { model_id: place.dataset.widget } } });
  view.constructor.attach(view, place);
}
