/** A window into a flipbook for tests and the console: where things are and how fast they are drawn. It changes nothing. */

import { middleOf, segmentOf } from "./layout.js";
import { isOver } from "./score.js";

/** @param {import("./instance.js").Flipbook} book */
export function handleOf(book) {
  return {
    get step() {
      return book.player.step;
    },
    get progress() {
      return book.player.progress;
    },
    get motion() {
      return book.player.motion;
    },
    get stage() {
      return book.scene?.stage ?? null;
    },
    get passes() {
      return book.hidden ? null : book.score.passes.length;
    },
    get events() {
      return book.hidden ? null : book.score.events;
    },
    get engine() {
      return book.scene?.engine ?? null;
    },
    get isOver() {
      return isOver(book.score);
    },
    get connections() {
      return book.socket?.connections ?? 0;
    },
    get stats() {
      return book.painter.stats;
    },
    /** Middle of a cell on the score's canvas, CSS px; null when its column is out of view. */
    cell(layer, position) {
      const layout = book.painter.layout;
      const segment = segmentOf(layout, position);
      const row = layout.rows[layer];
      return segment && row ? { x: middleOf(segment, position), y: row.y, height: row.height, fold: segment.fold } : null;
    },
  };
}
