import assert from "node:assert/strict";
import { test } from "node:test";

import * as score from "../../../views/assets/flipbook/score.js";
import { draftedRun, header, pass, queued, recomputedRun, wholeRun } from "./run.mjs";

function read(events) {
  const made = score.createScore();
  assert.ok(score.extend(made, 0, events));
  return made;
}

test("ten asked, nine fed back: columns are the prompt and all but the last token", () => {
  const run = read(wholeRun());
  assert.equal(run.passes.length, 4);
  assert.equal(score.columnCount(run), 3 + 4 - 1);
  assert.equal(run.passes.at(-1).held, 3 + 4 - 1);
  assert.equal(run.tokens.get(6).text, " was", "the last token has a position after the last column");
});

test("a repeated or overlapping message changes nothing", () => {
  const events = wholeRun();
  const run = score.createScore();
  score.extend(run, 0, events.slice(0, 4));
  assert.ok(score.extend(run, 2, events.slice(2, 6)));
  assert.ok(score.extend(run, 0, events));
  assert.equal(run.events, events.length);
  assert.deepEqual(run.passes.map((each) => each.number), [0, 1, 2, 3]);
  assert.equal(score.textAfter(run, 3), " time, there was");
});

test("a message with events missing before it is refused whole", () => {
  const events = wholeRun();
  const run = score.createScore();
  score.extend(run, 0, events.slice(0, 2));
  assert.equal(score.extend(run, 3, events.slice(3)), false);
  assert.equal(run.events, 2);
  assert.equal(run.passes.length, 0);
});

test("the first token's time counts from the request's arrival, its wait told apart", () => {
  const run = read(wholeRun());
  assert.deepEqual(score.firstToken(run), { queueNs: 1e6, firstTokenNs: 9e6 });
});

test("the median gap is between emissions, not the length of a pass", () => {
  assert.equal(score.medianGap(read(wholeRun())), 3e6);
  assert.equal(score.medianGap(read(wholeRun([" time"]))), null, "one token has no gap");
});

test("the chunks of a long prompt emit nothing and set no gap", () => {
  const chunks = [pass(0, [], { ids: [1, 2] }), { ...pass(0, [" time"], { ids: [3], first: 2 }), number: 1, start_ns: 9e6, end_ns: 12e6 }];
  const run = read([header(), queued, ...chunks]);
  assert.ok(score.isChunk(run, run.passes[0]));
  assert.equal(score.firstToken(run).firstTokenNs, 12e6);
  assert.equal(score.medianGap(run), null);
});

test("the cache meets the state where its bytes first reach it", () => {
  assert.equal(score.crossover(read(wholeRun())), Math.ceil(100 / 16));
});

test("a model without a state has no crossover", () => {
  const events = wholeRun().map((event) => (event.event === "pass" ? { ...event, state_bytes_held: 0 } : event));
  assert.equal(score.crossover(read(events)), null);
});

test("a moment belongs to the pass that runs then, and a gap to the pass before it", () => {
  const run = read(wholeRun());
  assert.deepEqual(score.momentAt(run, 0), { step: 0, progress: 0 });
  assert.deepEqual(score.momentAt(run, 5e6), { step: 0, progress: 0.5 });
  assert.deepEqual(score.momentAt(run, 9.5e6), { step: 0, progress: 1 });
  assert.deepEqual(score.momentAt(run, 14e6), { step: 2, progress: 0.5 });
  assert.deepEqual(score.momentAt(run, 1e12), { step: 3, progress: 1 });
});

test("half a character waits for its other half", () => {
  const events = wholeRun(["x", "y", "z"]);
  const bytes = Buffer.from("é", "utf-8");
  events[2].emitted[0].token = { id: 1, bytes: bytes.subarray(0, 1).toString("base64"), text: "\uFFFD" };
  events[3].emitted[0].token = { id: 2, bytes: bytes.subarray(1).toString("base64"), text: "\uFFFD" };
  const run = read(events);
  assert.equal(score.textAfter(run, 0), "");
  assert.equal(score.textAfter(run, 1), "é");
  assert.equal(score.textAfter(run, 2), "éz");
});

test("while a run goes on its axes leave room for what was asked; once it is over they end with it", () => {
  const events = wholeRun();
  const going = read([header({ asked: 10 }), queued, ...events.slice(2, 4)]);
  assert.equal(score.columnCount(going), 3 + 10 - 1);
  assert.equal(score.timeExtent(going), 12e6 + 8 * 3e6);
  score.extend(going, 4, [{ event: "end", index: 4, reason: "cancelled", at_ns: 13e6 }]);
  assert.equal(score.columnCount(going), 4);
  assert.equal(score.timeExtent(going), 12e6);
});

test("end of text is known once a run has stopped at it, never guessed before", () => {
  assert.equal(score.endOfTextId(read(wholeRun(["a", "b"], "length"))), null);
  assert.equal(score.endOfTextId(read(wholeRun(["a", "b"], "stop"))), 51);
});

test("a value that the record lacks stays unknown", () => {
  const events = wholeRun();
  events[2].weight_bytes_read = null;
  assert.equal(read(events).passes[0].weightBytes, null);
});

test("of a pass with guesses only the right ones stand, and the next begins behind them", () => {
  const run = read(draftedRun());
  assert.deepEqual(run.passes.map(score.standing), [3, 6, 7]);
  assert.equal(run.passes[2].first, score.standing(run.passes[1]));
  assert.equal(score.textAfter(run, 1), " time upon a,");
});

test("a guess is shown as it went in, whatever stands at its place in the end", () => {
  const run = read(draftedRun());
  const went = (step, position) => score.tokenIn(run, run.passes[step], position).text;
  assert.deepEqual([3, 4, 5, 6].map((position) => went(1, position)), [" time", " upon", " a", "Once"]);
  assert.equal(run.tokens.get(6).text, ",", "the model's own choice at the place of the wrong guess");
  assert.deepEqual(score.tokenIn(run, run.passes[1], 7), { id: 900, bytes: "", text: "" }, "known by its number alone");
});

test("columns reach as far as any pass did, and no pass to come is counted for a token that came with others", () => {
  const run = read(draftedRun());
  assert.equal(score.columnCount(run), 9);
  const open = read(draftedRun().slice(0, 4));
  assert.equal(open.passes.length, 2);
  const pace = score.medianGap(open);
  assert.equal(score.timeExtent(open), open.passes[1].endNs + (1 / 2) * pace, "one of five is missing, at two a pass");
});

test("a run that keeps nothing says so in every pass and has no bytes to tell of a token", () => {
  const run = read(recomputedRun());
  assert.deepEqual(run.passes.map((each) => [each.first, each.count]), [[0, 3], [0, 4], [0, 5]]);
  assert.ok(run.passes.every(score.keepsNothing));
  assert.ok(!read(wholeRun()).passes.some(score.keepsNothing));
  assert.equal(score.kvBytesPerPosition(run), null);
  assert.equal(score.crossover(run), null);
});

test("alone is who had nobody before it and shared no pass; one that waits knows its place and until when", () => {
  assert.deepEqual(score.companyOf(read(wholeRun())), { isAlone: true, ahead: 0, most: 1 });
  assert.equal(score.companyOf(read(wholeRun().slice(0, 2))), null, "nothing has been measured yet");
  const busy = wholeRun().map((event) => (event.event === "pass" ? { ...event, shared_by: 3 } : event));
  assert.deepEqual(score.companyOf(read(busy)), { isAlone: false, ahead: 0, most: 3 });
  const told = { place: 2, expected_wait_ns: 5, estimated_from: 12, reserved_until: null };
  const behind = read([header(), { ...queued, ahead: 4, ...told }, { ...queued, index: 2 }]);
  assert.equal(behind.aheadAtArrival, 4);
  assert.deepEqual({ ...behind.queue, atNs: 0 }, { ahead: 0, atNs: 0, place: null, waitNs: null, estimatedFrom: null, reservedUntil: null });
});
