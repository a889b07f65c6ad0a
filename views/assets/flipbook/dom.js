/** Building blocks of the picture's frame: icons, and words in pieces. */

import { element } from "../dom.js";

export { element, setText } from "../dom.js";

const SVG = "http://www.w3.org/2000/svg";

/** Drawn here because fonts differ in which glyphs they have. Each in a box of 20 by 20. */
const ICONS = {
  first: "M4 4h2.4v12H4zM16 4v12l-8.6-6z",
  back: "M14.5 4v12L5.5 10z",
  play: "M6 3.6v12.8L16.6 10z",
  pause: "M5 4h3.6v12H5zM11.4 4H15v12h-3.6z",
  forward: "M5.5 4v12l9-6z",
  last: "M13.6 4H16v12h-2.4zM4 4v12l8.6-6z",
  table: "M3 4h14v12H3zM4.6 8v2.6h4.6V8zM10.8 8v2.6h4.6V8zM4.6 12v2.4h4.6V12zM10.8 12v2.4h4.6V12z",
  unfold: "M8.2 6.2 4.4 10l3.8 3.8-1.4 1.4L1.6 10l5.2-5.2zM11.8 6.2 15.6 10l-3.8 3.8 1.4 1.4 5.2-5.2-5.2-5.2z",
  fold: "M1.8 6.2 5.6 10l-3.8 3.8 1.4 1.4L8.4 10 3.2 4.8zM18.2 6.2 14.4 10l3.8 3.8-1.4 1.4L11.6 10l5.2-5.2z",
};

/** @param {keyof typeof ICONS} name */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  path.setAttribute("fill-rule", "evenodd");
  svg.append(path);
  return svg;
}

/** A button with an icon and a name. */
export function iconButton(name, title, className = "") {
  return element("button", { type: "button", class: `fb-button ${className}`, "aria-label": title, title }, icon(name));
}

/** Words in pieces; a piece that fills a place carries the place's name as its class. */
export function setParts(node, parts) {
  const said = JSON.stringify(parts);
  if (node.dataset.said === said) return;
  node.dataset.said = said;
  node.replaceChildren(
    ...parts.map((part) => (part.place ? element("span", { class: `fb-place fb-place-${part.place}` }, part.text) : part.text)),
  );
}
