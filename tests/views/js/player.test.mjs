import assert from "node:assert/strict";
import { test } from "node:test";

import { Player } from "../../../views/assets/flipbook/player.js";
import { createScore, extend } from "../../../views/assets/flipbook/score.js";
import { header, pass, queued, wholeRun } from "./run.mjs";

function playerOf(events, { isReduced = false } = {}) {
  const score = createScore();
  extend(score, 0, events);
  const rests = [];
  const player = new Player({ score, isReduced: () => isReduced, onRest: () => rests.push(player.step) });
  return { player, score, rests };
}

/** Let the page's clock run. */
function run(player, ms, frame = 10) {
  const from = player.lastTick ?? 0;
  for (let now = from; now <= from + ms; now += frame) player.tick(now);
}

test("a step forward is shown as it is computed, a step back is simply there", () => {
  const { player } = playerOf(wholeRun());
  player.go(1, { sweep: true });
  assert.equal(player.motion, "sweep");
  assert.equal(player.finished, 0, "its result is not there yet");
  run(player, 100);
  assert.ok(player.progress > 0 && player.progress < 1);
  run(player, 1000);
  assert.deepEqual([player.motion, player.progress, player.finished], ["rest", 1, 1]);
  player.go(0, { sweep: true });
  assert.deepEqual([player.motion, player.progress], ["rest", 1]);
});

test("under reduced motion nothing sweeps", () => {
  const { player } = playerOf(wholeRun(), { isReduced: true });
  player.go(2, { sweep: true });
  assert.deepEqual([player.motion, player.progress], ["rest", 1]);
  player.play();
  for (let now = 0; now < 3000; now += 16) {
    player.tick(now);
    assert.equal(player.progress, 1);
  }
});

test("the cursor stays inside the run", () => {
  const { player } = playerOf(wholeRun());
  player.go(99);
  assert.equal(player.step, 3);
  player.go(-5);
  assert.equal(player.step, 0);
});

test("a hundred times slower: the prefill of 8 ms takes 0.8 s, each decode 0.2 s", () => {
  const { player } = playerOf(wholeRun());
  player.chosen = "slow100";
  player.play();
  run(player, 400);
  assert.equal(player.step, 0);
  assert.ok(Math.abs(player.progress - 0.5) < 0.02);
  run(player, 600);
  assert.equal(player.step, 1);
  run(player, 2000);
  assert.deepEqual([player.step, player.motion], [3, "rest"]);
});

test("as it happened, the whole run is over in its own 18 ms", () => {
  const { player } = playerOf(wholeRun());
  player.chosen = "real";
  player.play();
  run(player, 20, 1);
  assert.deepEqual([player.step, player.motion], [3, "rest"]);
});

test("without a choice it plays at the slowest speed that still ends in reasonable time", () => {
  const { player } = playerOf(wholeRun());
  assert.equal(player.speed(), "slow100");
  const slow = wholeRun().map((event) => (event.event === "pass" ? { ...event, start_ns: event.start_ns * 500, end_ns: event.end_ns * 500 } : event));
  assert.equal(playerOf(slow).player.speed(), "real");
});

test("playing again at the end starts from the first pass", () => {
  const { player } = playerOf(wholeRun());
  player.go(3);
  player.play();
  player.tick(0);
  assert.equal(player.step, 0);
});

test("a live run is watched from its start while the engine runs ahead, and waits for it at the edge", () => {
  const { player, score } = playerOf([header({ asked: 4 }), queued, pass(0, [" time"]), pass(1, [","])]);
  player.watch();
  run(player, 3000);
  assert.deepEqual([player.step, player.motion], [1, "play"], "waits for more");
  assert.ok(player.isCatchingUp);
  extend(score, 4, [pass(2, [" x"]), { event: "end", index: 5, reason: "stop", at_ns: 15e6 }]);
  run(player, 3000);
  assert.deepEqual([player.step, player.motion, player.isCatchingUp], [2, "rest", false]);
});

test("following shows the newest pass at once and rests when the run ends", () => {
  const { player, score } = playerOf([header({ asked: 4 }), queued, pass(0, [" time"])]);
  player.follow();
  extend(score, 3, [pass(1, ["a"]), pass(2, ["b"])]);
  player.arrived();
  assert.deepEqual([player.step, player.motion], [2, "follow"]);
  extend(score, 5, [{ event: "end", index: 5, reason: "length", at_ns: 2e7 }]);
  player.arrived();
  assert.equal(player.motion, "rest");
});

test("a tab that was hidden goes on where it was", () => {
  const { player } = playerOf(wholeRun());
  player.chosen = "slow100";
  player.play();
  player.tick(0);
  player.tick(60_000);
  assert.equal(player.step, 0);
  assert.ok(player.progress < 0.4);
});
