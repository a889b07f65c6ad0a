/**
 * The time axis and the memory plot as plain scales. Both are linear from zero, so lengths may be compared by eye.
 */

import { ticksOf } from "../ticks.js";
import { columnCount, crossover, kvBytesPerPosition, timeExtent } from "./score.js";

/**
 * @param {import("./score.js").Score} score
 * @param {number} x      left edge
 * @param {number} width
 * @returns {{x: (ns: number) => number, extentNs: number, ticks: number[]}}
 */
export function timeScale(score, x, width) {
  const extentNs = Math.max(1, timeExtent(score));
  return {
    x: (ns) => x + (ns / extentNs) * width,
    extentNs,
    ticks: ticksOf(extentNs, Math.max(2, Math.floor(width / 90))),
  };
}

/**
 * The pass at a place of the time axis: the one that runs then, or the last that ran.
 *
 * @param {import("./score.js").Score} score
 */
export function passAt(score, ns) {
  let found = 0;
  for (const pass of score.passes) if (pass.startNs <= ns) found = pass.number;
  return found;
}

/**
 * Extent of the memory plot: far enough to see the two meet, and never less than the run itself; both axes from zero.
 *
 * @param {import("./score.js").Score} score
 * @returns {{positions: number, bytes: number}|null} null before there is anything to draw
 */
export function memoryExtent(score) {
  const pass = score.passes.at(-1);
  const each = kvBytesPerPosition(score);
  if (!pass || each === null) return null;
  const meeting = crossover(score);
  const wanted = Math.max(columnCount(score) * 1.15, meeting ? meeting * 1.6 : 0);
  const positions = Math.ceil(Math.min(wanted, Math.max(score.header.model.context_length, columnCount(score))));
  const bytes = Math.max(each * positions, pass.stateBytes * 1.3);
  return { positions, bytes };
}
