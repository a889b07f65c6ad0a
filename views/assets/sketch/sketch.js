/**
 * A curve drawn by hand: what the shim in views/sketch.py calls.
 *
 * `component` is Streamlit's ({data, parentElement, setStateValue}), with data = {axes, points, unsent, labels}: the axes,
 * the values that stand there at first, a name for what is not sent yet, and our words. The state `points` is a value
 * for each mark, null where there is none.
 *
 * With a mouse, a pen or a finger one draws from left to right, or moves a single point. With a keyboard each mark is a
 * slider of its own: those are real ones, of which only the focus is seen.
 */

import { element } from "../dom.js";
import { Plot, written } from "./plot.js";
import { meant, passed, valueAt } from "./stroke.js";

const SETS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End"];

/**
 * What a form has not sent yet: the server does not know it, and after a visit to another page the drawing is made anew.
 * The name is of one session, so that nobody finds another one's line.
 * @type {Map<string, (number|null)[]>}
 */
const unsent = new Map();

/** @type {WeakMap<ParentNode, Sketch>} */
const sketches = new WeakMap();

/** @param {{data: Object, parentElement: ParentNode, setStateValue: (name: string, value: any) => void}} component */
export function update(component) {
  const { data, parentElement: place } = component;
  const report = (points) => {
    unsent.set(data.unsent, points);
    component.setStateValue("points", points);
  };
  if (!sketches.get(place)?.is(data)) {
    sketches.get(place)?.destroy();
    const points = unsent.get(data.unsent);
    const fits = points?.length === data.axes.at.length;
    sketches.set(place, new Sketch(place.querySelector(".sk"), { ...data, points: fits ? points : data.points }));
    if (fits) report(points); // the new form has not heard of them
  }
  sketches.get(place).report = report;
}

/** Leave no observer behind. @param {ParentNode} place */
export function destroy(place) {
  sketches.get(place)?.destroy();
  sketches.delete(place);
}

class Sketch {
  /** @param {HTMLElement} root @param {{axes: import("./plot.js").Axes, points: (number|null)[], labels: Object}} data */
  constructor(root, { axes, points, labels }) {
    this.axes = axes;
    this.labels = labels;
    this.points = points;
    this.focused = null;
    this.hand = null; // {x, y} in pixels while a button or a finger is down
    this.report = () => undefined;
    this.build(root);
    this.plot = new Plot(this.svg, axes);
    this.watch = new ResizeObserver(() => this.fit());
    this.watch.observe(this.box);
    this.fit();
  }

  /** Whether these are its axes and words; a lesson that is being written may change them. */
  is({ axes, labels }) {
    return JSON.stringify([axes, labels]) === JSON.stringify([this.axes, this.labels]);
  }

  build(root) {
    root.setAttribute("aria-label", `${this.axes.label}. ${this.labels.keys}`);
    this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.svg.setAttribute("aria-hidden", "true");
    this.readout = element("span", { class: "sk-readout" });
    this.clear = element("button", { class: "sk-clear", type: "button" }, this.labels.clear);
    this.clear.addEventListener("click", () => this.empty());
    this.hint = element("span", { class: "sk-hint" }, this.labels.draw);
    this.sliders = this.axes.at.map((_, place) => this.slider(place));
    this.box = element("div", { class: "sk-box" }, this.svg, this.hint, ...this.sliders);
    const name = element("div", { class: "sk-name" }, this.axes.label);
    root.replaceChildren(name, this.box, element("div", { class: "sk-foot" }, this.readout, this.clear));
    this.listen();
  }

  slider(place) {
    const { at, along, low, high, step } = this.axes;
    const label = this.labels.at.replace("{x}", written(at[place])).replace("{along}", along);
    const input = element("input", { class: "sk-slider", type: "range", min: low, max: high, step, "aria-label": label });
    const take = () => {
      this.set(place, Number(input.value));
      this.draw();
    };
    // A key that would not move an untouched slider still says that its value is meant.
    input.addEventListener("keydown", (event) => SETS.includes(event.key) && take());
    input.addEventListener("input", take);
    input.addEventListener("change", () => this.tell());
    input.addEventListener("keyup", () => this.tell());
    input.addEventListener("focus", () => this.focus(place));
    input.addEventListener("blur", () => this.focus(null));
    return input;
  }

  listen() {
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      event.preventDefault(); // or a mouse begins to select words
      this.svg.setPointerCapture(event.pointerId);
      this.hand = this.pixel(event);
      this.set(...this.meant());
      this.draw();
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (!this.hand) return;
      for (const each of [...(event.getCoalescedEvents?.() ?? []), event]) this.move(this.pixel(each));
      this.draw();
    });
    for (const name of ["pointerup", "pointercancel"]) this.svg.addEventListener(name, () => this.lift());
  }

  pixel(event) {
    const { left, top } = this.svg.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }

  /** The mark that the hand is nearest to, and the value at its height. @returns {[number, number]} */
  meant() {
    const { x, y } = this.plot.share(this.hand.x, this.hand.y);
    return [meant(this.plot.places, x), valueAt(y, this.axes)];
  }

  move(to) {
    const from = this.hand;
    this.hand = to;
    const [before, now] = [from, to].map(({ x, y }) => this.plot.share(x, y));
    for (const { place, y } of passed(this.plot.places, before, now)) this.set(place, valueAt(y, this.axes));
  }

  /** Where a line ends beside a mark, that mark is meant, too. */
  lift() {
    if (!this.hand) return;
    const [place, value] = this.meant();
    if (this.points[place] === null) this.set(place, value);
    this.hand = null;
    this.draw();
    this.tell();
  }

  set(place, value) {
    this.points = this.points.map((old, n) => (n === place ? value : old));
    const x = written(this.axes.at[place]);
    this.readout.textContent = `${x}: ${valued(value, this.axes)}`;
  }

  empty() {
    this.points = this.points.map(() => null);
    this.readout.textContent = "";
    this.draw();
    this.tell();
  }

  focus(place) {
    this.focused = place;
    this.draw();
  }

  /** Say what stands there; Streamlit keeps it until the form is sent. */
  tell() {
    this.report(this.points);
  }

  fit() {
    const width = this.box.clientWidth;
    if (!width) return;
    this.plot.fit(width, parseFloat(getComputedStyle(document.documentElement).fontSize) / 16);
    this.draw();
  }

  draw() {
    if (!this.plot.size) return;
    const some = this.points.some((value) => value !== null);
    this.hint.hidden = some || this.hand !== null;
    this.clear.hidden = !some;
    this.plot.draw(this.points, this.focused, this.hand);
    this.sliders.forEach((input, place) => this.say(input, place));
  }

  /** An untouched slider begins where the curve left off. */
  say(input, place) {
    const value = this.points[place];
    const before = this.points.slice(0, place).findLast((one) => one !== null) ?? this.axes.low;
    if (Number(input.value) !== (value ?? before)) input.value = value ?? before;
    input.setAttribute("aria-valuetext", value === null ? this.labels.not_drawn : valued(value, this.axes));
  }

  destroy() {
    this.watch.disconnect();
  }
}

function valued(value, { unit }) {
  return `${written(value)} ${unit}`.trim();
}
