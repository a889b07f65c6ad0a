/**
 * The flipbook's entry: what the shim in views/flipbook.py calls.
 *
 * `component` is Streamlit's ({data, parentElement, setStateValue}), with
 * data = {run_id, recording, at, reveal, play, together, base_path, labels, colours}. Streamlit calls again whenever data
 * or theme change, so `update` may be called any number of times.
 */

import { Flipbook } from "./instance.js";

const SHEETS = ["flipbook.css", "header.css", "panels.css", "odds.css", "controls.css", "table.css"];

/** @type {WeakMap<ParentNode, {book: Flipbook|null, component: Object}>} */
const instances = new WeakMap();

/** @param {{data: Object, parentElement: ParentNode, setStateValue: (name: string, value: any) => void}} component */
export function update(component) {
  const place = component.parentElement;
  const known = instances.get(place);
  if (known) {
    known.component = component;
    known.book?.update(component);
    return;
  }
  const entry = { book: null, component };
  instances.set(place, entry);
  // Nothing is built before the style sheets are there: a picture measures its place when it is made.
  Promise.all(SHEETS.map((name) => load(place, name))).then(() => {
    if (instances.get(place) === entry) open(entry, place);
  });
}

function open(entry, place) {
  entry.book = new Flipbook(place.querySelector(".fb"), entry.component);
  entry.book.update(entry.component);
  entry.handle = entry.book.handle;
  window.__flipbook = entry.handle;
}

/** Add a style sheet that lies beside this file, in the same version. */
function load(place, name) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  const address = new URL(name, import.meta.url);
  address.search = new URL(import.meta.url).search;
  link.href = address.href;
  return new Promise((resolve) => {
    link.onload = resolve;
    link.onerror = resolve;
    place.querySelector(".fb").before(link);
  });
}

/** Leave no socket, timer or observer behind. @param {ParentNode} place */
export function destroy(place) {
  const entry = instances.get(place);
  entry?.book?.destroy();
  if (entry?.handle && window.__flipbook === entry.handle) window.__flipbook = undefined;
  instances.delete(place);
}
