/**
 * The drawing itself as SVG: axes, a line for each mark, and the curve as far as it has been drawn.
 *
 * @typedef {Object} Axes
 * @property {number[]} at     where along x the curve is asked for
 * @property {string} along    what x counts
 * @property {string} label    what y counts, with its unit
 * @property {string} unit
 * @property {number} low
 * @property {number} high
 * @property {number} step     distance of two values
 */

import { ticksOf } from "../ticks.js";
import { fitting } from "./stroke.js";

const SVG = "http://www.w3.org/2000/svg";
const SIDE = 14; // px beside the first and the last mark, for a hand to begin and end in
const PER_LETTER = 7.2;

export class Plot {
  /** @param {SVGElement} svg @param {Axes} axes */
  constructor(svg, axes) {
    this.svg = svg;
    this.axes = axes;
  }

  /** Lay it out for a width in CSS pixels; `unit` is how much larger than on a desk everything is. */
  fit(width, unit) {
    const { at, low, high } = this.axes;
    const heights = ticksOf(high, 4).filter((value) => value >= low).map((value) => [value, written(value)]);
    const widest = Math.max(...heights.map(([, text]) => text.length));
    const height = Math.round(Math.min(280, Math.max(230, width * 0.4)) * unit);
    this.unit = unit;
    this.size = { width, height };
    this.area = {
      left: Math.round((widest * PER_LETTER + 12) * unit),
      right: width - 10 * unit,
      top: 10 * unit,
      bottom: height - 50 * unit,
    };
    this.heights = heights;
    const span = at.at(-1) - at[0];
    const from = this.area.left + SIDE * unit;
    const over = this.area.right - SIDE * unit - from;
    this.marks = at.map((place) => from + ((place - at[0]) / span) * over);
  }

  /** A pixel of the drawing in shares of its area. */
  share(x, y) {
    const { left, right, top, bottom } = this.area;
    return { x: (x - left) / (right - left), y: (bottom - y) / (bottom - top) };
  }

  /** The marks in the same shares. */
  get places() {
    return this.marks.map((x) => this.share(x, 0).x);
  }

  /** How far down a value lies. @param {number} value */
  y(value) {
    const { low, high } = this.axes;
    return this.area.bottom - ((value - low) / (high - low)) * (this.area.bottom - this.area.top);
  }

  /**
   * Draw everything anew.
   * @param {(number|null)[]} points @param {number|null} focused  the mark that the keyboard is at
   * @param {{x: number, y: number}|null} hand  where the line is being drawn, in pixels
   */
  draw(points, focused, hand) {
    const { width, height } = this.size;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = `${height}px`;
    this.svg.replaceChildren(...this.grid(), ...this.words(), ...this.curve(points, hand), ...this.dots(points, focused));
  }

  grid() {
    const { left, right, top, bottom } = this.area;
    const lines = this.heights.map(([value]) => line("sk-grid", [left, this.y(value)], [right, this.y(value)]));
    return [...lines, ...this.marks.map((x) => line("sk-mark", [x, top], [x, bottom]))];
  }

  words() {
    const { left, right, bottom } = this.area;
    const { unit } = this;
    const named = this.axes.at.map((place, n) => ({ at: this.marks[n], text: written(place) }));
    const kept = fitting(named.map(({ at, text }) => ({ at, width: text.length * PER_LETTER * unit })), 6 * unit);
    return [
      ...this.heights.map(([value, text]) => label(left - 7 * unit, this.y(value) + 4.5 * unit, text, "end")),
      ...named.filter((_, n) => kept.has(n)).map(({ at, text }) => label(at, bottom + 21 * unit, text, "middle")),
      label((left + right) / 2, bottom + 41 * unit, this.axes.along, "middle"),
    ];
  }

  /** Neighbouring points are joined; the last one before the hand is joined to it. */
  curve(points, hand) {
    const drawn = points.map((value, n) => (value === null ? null : [this.marks[n], this.y(value)]));
    const pairs = drawn.slice(1).map((to, n) => [drawn[n], to]);
    const lines = pairs.filter(([from, to]) => from && to).map(([from, to]) => line("sk-line", from, to));
    const last = drawn.findLastIndex((point) => point && hand && point[0] <= hand.x);
    if (last >= 0 && !drawn[last + 1]) lines.push(line("sk-line", drawn[last], [hand.x, hand.y]));
    return lines;
  }

  dots(points, focused) {
    return points.flatMap((value, n) => {
      const at = { cx: this.marks[n], cy: this.y(value ?? this.axes.low) };
      const ring = n === focused ? [shape("circle", { class: "sk-focus", r: 11 * this.unit, ...at })] : [];
      const dot = value === null ? [] : [shape("circle", { class: "sk-dot", r: 5.5 * this.unit, ...at })];
      return [...ring, ...dot];
    });
  }
}

/** A number as the pages write it: 1,500. @param {number} value */
export function written(value) {
  return value.toLocaleString("en-US");
}

function shape(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function line(name, [x1, y1], [x2, y2]) {
  return shape("line", { class: name, x1, y1, x2, y2 });
}

function label(x, y, text, anchor) {
  return shape("text", { class: "sk-label", x, y, "text-anchor": anchor }, text);
}
