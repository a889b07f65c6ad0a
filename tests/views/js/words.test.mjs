import assert from "node:assert/strict";
import { test } from "node:test";

import { oddsRows } from "../../../views/assets/flipbook/panels.js";
import { spell, visible } from "../../../views/assets/flipbook/tokens.js";
import { Words } from "../../../views/assets/flipbook/words.js";
import { token } from "./run.mjs";

const words = new Words({ lang: "en", tokens: { one: "{n} token", other: "{n} tokens" }, greet: "from {a} to {b}" });

test("plural forms and places are filled, and a place keeps its name", () => {
  assert.equal(words.say("tokens", { n: 1 }), "1 token");
  assert.equal(words.say("tokens", { n: 1234 }), "1,234 tokens");
  assert.deepEqual(words.parts("greet", { a: "{b}", b: "x" }).map((part) => part.place), [null, "a", null, "b"]);
  assert.equal(words.say("greet", { a: "{b}", b: "<i>" }), "from {b} to <i>", "what fills a place is not filled again");
});

test("bytes are powers of two, unknown is blank and never zero", () => {
  assert.deepEqual([0, 1023, 1024, 393216, 1.5 * 1024 ** 3].map((n) => words.bytes(n)), ["0 B", "1,023 B", "1 KiB", "384 KiB", "1.5 GiB"]);
  assert.equal(words.bytes(null), "");
  assert.equal(words.time(null), "");
});

test("times are ms with three figures, seconds when long", () => {
  assert.deepEqual([1_853_000, 16_000_000, 15_112_000, 12_345_678_901].map((ns) => words.time(ns)), ["1.85 ms", "16 ms", "15.1 ms", "12.3 s"]);
});

test("a small share is small, not zero", () => {
  assert.deepEqual([0, 0.0004, 0.004, 0.43, 1].map((share) => words.percent(share)), ["0 %", "<0.1 %", "0.4 %", "43 %", "100 %"]);
});

test("spaces, breaks and controls become visible", () => {
  const shown = (text) => spell(token(1, text), null, "");
  assert.deepEqual(shown(" girl"), { lead: "·", text: "girl", plain: true });
  assert.deepEqual(shown("\n\n"), { lead: "", text: "↵↵", plain: true });
  assert.deepEqual(shown("   "), { lead: "···", text: "", plain: true });
  assert.equal(shown("a\u202eb").text, "a‹202E›b", "cannot turn the page's text around");
  assert.equal(shown("\u0007").text, "␇");
  assert.equal(shown("👩‍🚀").text, "👩‍🚀");
  assert.equal(visible("a\nb"), "a↵\nb");
});

test("a part of a character shows its bytes, a real replacement character itself", () => {
  const half = { id: 1, bytes: Buffer.from([0xe2, 0x96]).toString("base64"), text: "\uFFFD" };
  assert.equal(spell(half, null, "").text, "‹E2 96›");
  assert.equal(spell(token(1, "\uFFFD"), null, "").text, "\uFFFD");
});

test("a token without bytes is named once it is known to end the text", () => {
  const silent = { id: 7, bytes: "", text: "" };
  assert.equal(spell(silent, null, "end").text, "#7");
  assert.equal(spell(silent, 7, "end").text, "end");
});

function candidates(shares) {
  return shares.map(([model, sampled], id) => ({ token: { id, bytes: "", text: "" }, model, tempered: model, sampled }));
}

test("greedy odds are the model's own and nothing counts as cut", () => {
  const emission = { token: { id: 0 }, candidates: candidates([[0.6, 1], [0.3, 0]]), rank: 0 };
  const { rows, others } = oddsRows(emission, { temperature: 0 }, 100);
  assert.deepEqual(rows.map((row) => [row.share, row.isChosen, row.isCut]), [[0.6, true, false], [0.3, false, false]]);
  assert.equal(others.count, 98);
  assert.ok(Math.abs(others.share - 0.1) < 1e-12);
});

test("truncation shows as cut, and a choice from far down takes the last row", () => {
  const far = candidates([[0.4, 0.5], [0.2, 0.25], [0.1, 0], [0.05, 0], [0.04, 0], [0.03, 0], [0.02, 0], [0.01, 0.25]]);
  const { rows } = oddsRows({ token: { id: 7 }, candidates: far, rank: 7 }, { temperature: 1 }, 100);
  assert.equal(rows.length, 6);
  assert.deepEqual(rows.map((row) => row.isCut), [false, false, true, true, true, false]);
  assert.ok(rows.at(-1).isChosen && rows.at(-1).share === 0.25);
});
