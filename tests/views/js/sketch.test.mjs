import assert from "node:assert/strict";
import { test } from "node:test";

import { fitting, meant, passed, valueAt } from "../../../views/assets/sketch/stroke.js";

const MARKS = [0.1, 0.3, 0.5, 0.7, 0.9];
const AXIS = { low: 0, high: 1400, step: 5 };

/** What a stroke through these points leaves at the marks. */
function drawn(points) {
  const values = new Map();
  points.slice(1).forEach((to, n) => passed(MARKS, points[n], to).forEach(({ place, y }) => values.set(place, y)));
  return values;
}

test("a quick stroke that jumps over marks gives each the height at which it passed", () => {
  const values = drawn([{ x: 0, y: 0 }, { x: 1, y: 1 }]);
  MARKS.forEach((mark, place) => assert.ok(Math.abs(values.get(place) - mark) < 1e-9));
});

test("a stroke from right to left says the same as one from left to right", () => {
  const there = drawn([{ x: 0.05, y: 0.2 }, { x: 0.6, y: 0.9 }, { x: 0.95, y: 0.4 }]);
  const back = drawn([{ x: 0.95, y: 0.4 }, { x: 0.6, y: 0.9 }, { x: 0.05, y: 0.2 }]);
  assert.equal(there.size, MARKS.length);
  for (const [place, y] of there) assert.ok(Math.abs(back.get(place) - y) < 1e-9);
});

test("a hand that moves up beside a mark takes that mark along and no other", () => {
  assert.deepEqual([...drawn([{ x: 0.505, y: 0.2 }, { x: 0.507, y: 0.6 }])], [[2, 0.6]]);
  assert.deepEqual([...drawn([{ x: 0.5, y: 0.2 }, { x: 0.5, y: 0.6 }])], [[2, 0.6]]);
});

test("a press means the nearest mark, also from outside the first and the last", () => {
  assert.deepEqual([-0.05, 0.1, 0.19, 0.21, 0.62, 1.05].map((x) => meant(MARKS, x)), [0, 0, 0, 1, 3, 4]);
});

test("a value keeps to the axis: its ends and its steps", () => {
  assert.deepEqual([-0.2, 0, 0.5, 0.2861, 1, 3].map((y) => valueAt(y, AXIS)), [0, 0, 700, 400, 1400, 1400]);
  assert.equal(valueAt(0.3333, { low: 1, high: 2, step: 0.1 }), 1.3);
});

test("labels that would touch are left out, the last one never", () => {
  const close = [0, 10, 20, 30].map((at) => ({ at, width: 12 }));
  assert.deepEqual([...fitting(close, 4)].sort(), [1, 3]);
  const wide = [0, 100].map((at) => ({ at, width: 12 }));
  assert.equal(fitting(wide, 4).size, 2);
});
