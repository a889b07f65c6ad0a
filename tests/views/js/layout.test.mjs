import assert from "node:assert/strict";
import { test } from "node:test";

import * as layout from "../../../views/assets/flipbook/layout.js";
import { ticksOf } from "../../../views/assets/ticks.js";

const EIGHT = ["delta", "delta", "delta", "attention", "delta", "delta", "delta", "attention"];

function place(changes = {}) {
  const usual = { width: 900, unit: 1, narrow: false, layers: EIGHT, promptCount: 8, columns: 17, cursor: 8, unfolded: false, scroll: 0 };
  return layout.layOut({ ...usual, ...changes });
}

/** Every position is in exactly one segment, from left to right, without overlap, inside the picture. */
function assertTiled(laid, columns, isCut = false) {
  let next = laid.segments[0].from;
  let right = -Infinity;
  for (const segment of laid.segments) {
    assert.equal(segment.from, next);
    assert.ok(segment.x >= right - 1e-6, `segment ${segment.from} overlaps`);
    assert.ok(segment.to - segment.from === 1 || segment.fold);
    next = segment.to;
    right = segment.x + segment.width;
  }
  if (!isCut) assert.equal(next, columns);
  assert.ok(right <= laid.keptX, `columns end at ${right}, kept begins at ${laid.keptX}`);
}

test("a short run shows every column, with a place left for the last token", () => {
  const laid = place();
  assertTiled(laid, 17);
  assert.ok(laid.segments.every((segment) => !segment.fold));
  assert.ok(laid.segments.at(-1).x + 2 * laid.pitch <= laid.keptX);
});

test("on a phone the ten-token run needs no fold", () => {
  const laid = place({ width: 362, narrow: true });
  assertTiled(laid, 17);
  assert.ok(laid.segments.every((segment) => !segment.fold));
});

for (const width of [362, 700, 900, 1500]) {
  for (const cursor of [0, 8, 60, 200, 406, 407]) {
    test(`a run of 8 + 400 at ${width} px keeps the cursor's column in view at position ${cursor}`, () => {
      const laid = place({ width, narrow: width < 560, columns: 408, cursor });
      const segment = layout.segmentOf(laid, cursor);
      assert.ok(segment, "in view");
      assert.ok(!segment.fold || cursor < 8, "and not folded");
      assert.equal(laid.segments[0].from, 0, "the run's beginning stays in view");
      if (cursor < 407) assert.ok(layout.segmentOf(laid, cursor + 1), "and so does the column where its token goes in");
      assertTiled(laid, 408, true);
    });
  }
}

test("the middle of a long prompt is one block that holds all of it", () => {
  const laid = place({ promptCount: 2000, columns: 2001, cursor: 2000 });
  const folds = laid.segments.filter((segment) => segment.fold);
  assert.equal(folds.length, 1);
  assert.deepEqual([folds[0].from, folds[0].to], [3, 1997]);
  assertTiled(laid, 2001);
});

test("a block for more tokens is wider, but never by much", () => {
  const widths = [10, 100, 1000, 100_000].map((count) => layout.foldWidth(count, 1, false));
  assert.deepEqual([...widths].sort((a, b) => a - b), widths);
  assert.ok(widths.at(-1) < 320);
});

test("unfolded, the columns scroll and those in view have their natural width", () => {
  const laid = place({ columns: 408, unfolded: true, scroll: 1000 });
  assert.ok(laid.contentWidth > laid.gridWidth);
  assert.ok(laid.segments.every((segment) => segment.width === laid.pitch));
  assert.ok(laid.segments[0].from > 20 && laid.segments.length < 60);
});

test("many layers share a bounded height, and every fourth is named", () => {
  for (const count of [24, 32, 64]) {
    const layers = Array.from({ length: count }, (_, i) => ((i + 1) % 4 ? "delta" : "attention"));
    const { rows, height } = layout.rowsOf(layers, 0, 1);
    assert.ok(height < 460, `${count} layers are ${height} px high`);
    assert.deepEqual(rows.filter((row) => row.labelled).map((row) => row.layer + 1), layers.map((_, i) => i + 1).filter((n) => n % 4 === 0));
  }
  assert.ok(layout.rowsOf(EIGHT, 0, 1).rows.every((row) => row.labelled));
});

test("the pointer finds the column, the row and what is kept", () => {
  const laid = place();
  const segment = laid.segments[5];
  const row = laid.rows[3];
  assert.deepEqual(layout.under(laid, segment.x + 2, row.y + 2), { segment, row, kept: false });
  assert.equal(layout.under(laid, laid.keptX + 5, row.y + 2).kept, true);
  assert.deepEqual(layout.under(laid, 2, 2), { segment: null, row: null, kept: false });
});

test("ticks are round, start at zero and stay on the axis", () => {
  assert.deepEqual(ticksOf(110.7, 6), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticksOf(0.9, 3), [0, 0.5]);
});

test("a pass that checks guesses is seen whole, not half in a fold", () => {
  for (const cursor of [60, 200, 406]) {
    const laid = place({ width: 1100, columns: 408, cursor, from: cursor - 4 });
    for (let position = cursor - 4; position <= cursor; position += 1) {
      const segment = layout.segmentOf(laid, position);
      assert.ok(segment && !segment.fold, `column ${position} of ${cursor - 4} to ${cursor}`);
    }
  }
});
