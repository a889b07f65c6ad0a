import assert from "node:assert/strict";
import { test } from "node:test";

import { Player } from "../../../views/assets/flipbook/player.js";
import { createScore, extend } from "../../../views/assets/flipbook/score.js";
import { join, leave, takeAlong } from "../../../views/assets/flipbook/together.js";
import { wholeRun } from "./run.mjs";

/** As much of a flipbook as shares a clock; its run takes `slower` times as long. */
function book(slower) {
  const score = createScore();
  const stretched = wholeRun().map((event) =>
    "start_ns" in event ? { ...event, start_ns: event.start_ns * slower, end_ns: event.end_ns * slower } : event,
  );
  extend(score, 0, stretched);
  const player = new Player({ score, isReduced: () => false, onRest: () => undefined });
  return { player, goAlong: (leader) => {
    player.chosen = leader.speed();
    player.joinAt(leader.atNs, leader.isPlaying);
  } };
}

test("what is done to one flipbook of a clock happens to the others, at the same moment of their own runs", () => {
  const [quick, slow, alone] = [book(1), book(10), book(1)];
  for (const one of [quick, slow]) join(one, "compare");
  join(alone, null);
  quick.player.go(quick.player.last);
  takeAlong(quick);
  const reached = slow.player.score.passes[slow.player.step];
  assert.ok(reached.startNs <= quick.player.atNs && reached.endNs >= quick.player.atNs, "under way just then");
  assert.ok(slow.player.step < slow.player.last);
  assert.equal(alone.player.step, 0);
  quick.player.play();
  takeAlong(quick);
  assert.ok(slow.player.isPlaying && !alone.player.isPlaying);
  assert.equal(slow.player.atNs, quick.player.atNs);
  assert.equal(slow.player.speed(), quick.player.speed(), "slowed by the same factor");
  leave(slow);
  quick.player.pause();
  takeAlong(quick);
  assert.ok(slow.player.isPlaying, "it has left the clock");
});
