/**
 * What one drawing needs, gathered once, and the few strokes that every drawing shares.
 *
 * @typedef {Object} Frame
 * @property {CanvasRenderingContext2D} ctx
 * @property {import("./theme.js").Theme} theme
 * @property {import("./layout.js").Layout} layout
 * @property {import("./score.js").Score} score
 * @property {import("./score.js").PassView|null} pass  null before any pass, and while the answer is hidden
 * @property {number} front     layers computed so far in this pass; all of them once it is over
 * @property {number|null} engine  the pass at which the engine is, where that is ahead of the cursor
 * @property {boolean} hidden
 * @property {number} hoverColumn  position under the pointer, or -1
 * @property {import("./words.js").Words} words
 * @property {(token: import("./score.js").Token) => import("./tokens.js").Spelling} spell
 */

import { standing } from "./score.js";

/** Size a canvas for the screen's pixels and return its context, cleared, in CSS pixels. */
export function surface(canvas, width, height) {
  const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
  const w = Math.round(width * ratio);
  const h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}

/** How much of a row is computed, in [0, 1]. @param {Frame} frame @param {number} layer */
export function reached(frame, layer) {
  return Math.min(1, Math.max(0, frame.front - layer));
}

/** Whether the pass under the cursor is over: every layer computed. @param {Frame} frame */
export function isSettled(frame) {
  return frame.front >= frame.layout.rows.length;
}

/** The colour of the running pass. @param {Frame} frame */
export function phaseColour(frame) {
  return frame.theme[frame.pass?.phase ?? "prefill"];
}

/**
 * A segment cut by what the pass does to it: `past` went in earlier, `now` goes in, `known` waits with its token known,
 * `refused` went in as a guess and turned out wrong, which is known when the pass is over; `next` is not known yet.
 *
 * @param {Frame} frame
 * @param {import("./layout.js").Segment} segment
 * @returns {{from: number, to: number, x: number, width: number, fold: boolean, status: "past"|"now"|"refused"|"known"|"next"}[]}
 */
export function pieces(frame, segment) {
  const { pass, score } = frame;
  const first = pass?.first ?? 0;
  const after = first + (pass?.count ?? 0);
  const right = pass?.drafted && isSettled(frame) ? standing(pass) : after;
  const each = segment.width / (segment.to - segment.from);
  return [
    ["past", 0, first],
    ["now", first, right],
    ["refused", right, after],
    ["known", after, Math.max(after, score.promptCount)],
    ["next", Math.max(after, score.promptCount), Infinity],
  ]
    .map(([status, low, high]) => [status, Math.max(low, segment.from), Math.min(high, segment.to)])
    .filter(([, from, to]) => to > from)
    .map(([status, from, to]) => ({
      from,
      to,
      x: segment.x + (from - segment.from) * each,
      width: (to - from) * each,
      fold: segment.fold,
      status,
    }));
}

/** @param {Frame} frame @param {number} size  px on a desk @param {number} [weight] */
export function setFont(frame, size, weight = 400) {
  frame.ctx.font = `${weight} ${size * frame.layout.unit}px ${frame.theme.font}`;
}

/** A text cut at a width, with an ellipsis. @param {CanvasRenderingContext2D} ctx */
export function cut(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  const letters = Array.from(text);
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ctx.measureText(`${letters.slice(0, middle).join("")}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("")}…`;
}

/** Fill with a see-through colour. */
export function fill(ctx, colour, alpha, path) {
  ctx.globalAlpha = alpha;
  ctx.fillStyle = colour;
  ctx.fill(path);
  ctx.globalAlpha = 1;
}

/** Stroke with a see-through colour. */
export function stroke(ctx, colour, alpha, width, path, dash = []) {
  ctx.globalAlpha = alpha;
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.stroke(path);
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}

/** A rounded box as a path. */
export function box(x, y, width, height, radius, path = new Path2D()) {
  path.roundRect(x, y, width, height, Math.max(0, Math.min(radius, width / 2, height / 2)));
  return path;
}
