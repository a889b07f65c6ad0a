/** A window into a flipbook for tests and the console: where things are and how fast they are drawn. It changes nothing. */

import { middleOf, segmentOf, slotOf } from "./layout.js";
import { isOver } from "./score.js";

/** @param {import("./instance.js").Flipbook} book */
export function handleOf(book) {
  return {
    /** The live run in view; null for a recording. */
    get runId() {
      return book.component.data.run_id ?? null;
    },
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
      return book.hidden || book.glimpse ? null : book.score.passes.length;
    },
    get events() {
      return book.hidden || !book.score ? null : book.score.events;
    },
    get engine() {
      return book.scene?.engine ?? null;
    },
    get isOver() {
      return !book.glimpse && isOver(book.score);
    },
    get connections() {
      return book.socket?.connections ?? 0;
    },
    get stats() {
      return book.painter.stats;
    },
    /**
     * Where a cell's own colour shows on the score's canvas, and in an attention row where its chip does, CSS px; null
     * when its column is out of view.
     */
    cell(layer, position) {
      const layout = book.painter.layout;
      const segment = segmentOf(layout, position);
      const row = layout.rows[layer];
      if (!segment || !row) return null;
      const x = middleOf(segment, position);
      if (row.kind === "delta") return { x, y: row.y + row.height / 2, chipY: null };
      const slot = slotOf(layout, row);
      return { x, y: slot.top + slot.height * 0.12, chipY: slot.top + slot.height * 0.34 };
    },
  };
}
