/** What is said about the pass: title, sentences, the text so far, how the numbers were made, how the run stands. */

import { setParts, setText } from "./dom.js";
import { companyOf, isChunk, isOver, keepsNothing, textAfter } from "./score.js";
import { visible } from "./tokens.js";

const MOST_LINES = 2;

/**
 * How the run stands, when that is what there is to see.
 *
 * "glimpse": it plays by itself, and nothing says or counts what a pass is; for before a question has been answered.
 *
 * @typedef {"empty"|"hidden"|"connecting"|"queued"|"reading"|"glimpse"|"passes"} Stage
 * @returns {Stage}
 */
export function stageOf(scene) {
  const { score, hidden, glimpse, hasRun } = scene;
  if (hidden) return "hidden";
  if (!hasRun) return "empty";
  if (score.passes.length) return glimpse ? "glimpse" : "passes";
  if (!score.header || isOver(score)) return "connecting";
  return score.queue && (score.queue.ahead > 0 || score.queue.reservedUntil) ? "queued" : "reading";
}

/** @param {Object} parts from skeleton.js @param {Object} scene from instance.js */
export function caption(parts, scene) {
  const stage = stageOf(scene);
  if (stage === "passes") captionPass(parts, scene);
  else captionStage(parts, scene, stage);
  captionText(parts, scene, stage);
  captionStatus(parts, scene);
  captionNote(parts, scene);
  captionEvidence(parts, scene);
}

function captionPass(parts, { score, words, pass, spell }) {
  const many = pass.phase === "decode" && pass.count > 1;
  const name = many ? "title_decode_many" : isChunk(score, pass) ? "title_chunk" : `title_${pass.phase}`;
  const tokens = words.say("tokens", { n: pass.count });
  setText(parts.title, words.say(name, { tokens_in: tokens, tokens_out: words.count(pass.emitted.length) }));
  const layers = words.say("layers", { n: score.layers.length });
  const token = quote(words, spell, score.tokens.get(pass.first));
  const sentences = [words.parts(`sub_${pass.phase}`, { n: pass.count, tokens, token, layers })];
  if (pass.weightBytes !== null) {
    sentences.push(words.parts("sub_weights", { n: pass.count, weights: words.bytes(pass.weightBytes) }));
  }
  if (pass.drafted) sentences.push(words.parts("sub_drafts", { n: pass.drafted, right: words.count(pass.accepted) }));
  sentences.push(...aboutMemory(score, words, pass));
  if (pass.sharedBy > 1) sentences.push(words.parts("sub_shared", { n: pass.sharedBy - 1 }));
  setParts(parts.sub, sentences.flatMap((sentence) => [...sentence, { text: " ", place: null }]));
  parts.sub.dataset.phase = pass.phase;
}

/** What is kept before this pass is read back; a first pass has nothing to read, and one may keep nothing for the next. */
function aboutMemory(score, words, pass) {
  if (keepsNothing(pass)) return [words.parts("sub_nothing_kept")];
  const sentences = [];
  const entries = words.say("entries", { n: pass.first });
  const suffix = pass.first ? "again" : "first";
  if (score.layers.includes("attention")) sentences.push(words.parts(`sub_attention_${suffix}`, { n: pass.first, entries }));
  if (score.layers.includes("delta")) sentences.push(words.parts(`sub_delta_${suffix}`));
  return sentences;
}

function captionStage(parts, { score, words }, stage) {
  setText(parts.title, words.say(`${stage}_title`));
  const sentences = stage === "queued" ? aboutQueue(score.queue, words) : [words.parts(`${stage}_sub`, { n: score.promptCount })];
  setParts(parts.sub, sentences.flatMap((sentence) => [...sentence, { text: " ", place: null }]));
}

/** The place in the queue and the wait to expect, or until when the engine is somebody else's. */
function aboutQueue({ ahead, place, waitNs, estimatedFrom, reservedUntil }, words) {
  if (reservedUntil) return [words.parts("queued_reserved", { time: words.clock(reservedUntil) })];
  const sentences = [words.parts("queued_sub", { n: ahead })];
  if (place !== null) sentences.push(words.parts("queued_place", { place }));
  if (waitNs && estimatedFrom) sentences.push(words.parts("queued_wait", { n: estimatedFrom, time: words.time(waitNs) }));
  return sentences;
}

/** A token in quotation marks, for a sentence. */
export function quote(words, spell, token) {
  if (!token) return "";
  const spelling = spell(token);
  const blank = spelling.text === "" ? words.say("spaces", { n: spelling.lead.length }) : null;
  return blank ?? words.say("quoted", { token: spelling.text });
}

/** The text as its reader sees it, with what goes in and what came out marked; its end, when it is long. */
function captionText(parts, { score, words, pass, finished, step, width, unit, hidden }, stage) {
  const prompt = score.header?.prompt ?? "";
  const running = (stage === "passes" || stage === "glimpse") && !hidden;
  const isPrefill = !running || pass.phase === "prefill";
  const after = running ? textAfter(score, finished) : "";
  const before = running ? textAfter(score, step - 1) : "";
  const earlier = running ? textAfter(score, step - 2) : "";
  const pieces = [
    [prompt, running && isPrefill ? "in-prefill" : "prompt"],
    [earlier, "before"],
    [before.slice(earlier.length), isPrefill ? "before" : "in-decode"],
    [after.slice(before.length), isPrefill ? "out-prefill" : "out-decode"],
  ];
  const perLine = Math.floor(width / (7.4 * unit)) - 4;
  const room = perLine * MOST_LINES - 8;
  parts.text.hidden = prompt === "";
  // As high as the whole text so far will need, so that nothing jumps while it is read.
  const whole = prompt.length + (hidden ? 0 : score.written.length);
  parts.text.style.setProperty("--fb-lines", String(Math.min(MOST_LINES, Math.ceil(whole / perLine))));
  setParts(
    parts.text,
    keepEnd(pieces, Math.max(48, room)).map(([text, place]) => ({ text: visible(text, true), place })),
  );
}

/** The last `room` characters of a row of texts, after an ellipsis. */
function keepEnd(pieces, room) {
  let left = room;
  const kept = [];
  for (const [text, place] of [...pieces].reverse()) {
    if (text === "" || left <= 0) continue;
    kept.unshift([text.length > left ? `…${text.slice(-left)}` : text, place]);
    left -= text.length;
  }
  return kept;
}

/** Where a live run is, when the viewer is somewhere else. */
function captionStatus(parts, { score, words, engine, isLive, isCatchingUp, stage }) {
  let text = "";
  if (engine !== null) {
    const over = isOver(score);
    const name = isCatchingUp ? (over ? "live_slowed_over" : "live_slowed") : over ? "" : "live_behind";
    text = name ? words.say(name, { pass: engine + 1 }) : "";
  } else if (isLive && !isOver(score) && stage === "passes") {
    text = words.say("live");
  }
  setText(parts.status, text);
  parts.status.hidden = text === "";
  parts.status.dataset.running = String(isLive && !isOver(score));
}

function captionNote(parts, { score, words, hidden, isLost, refusal }) {
  const n = score.passes.length;
  const error = score.error ?? refusal;
  let text = "";
  let kind = "plain";
  if (error && !hidden) {
    text = words.say(n ? "failed_kept" : "failed", { n, message: words.fault(error) });
    kind = "error";
  } else if (isLost) {
    text = words.say("lost");
    kind = "warning";
  } else if (score.end?.reason === "cancelled" && !hidden) {
    text = words.say("cancelled", { n });
  }
  setText(parts.note, text);
  parts.note.hidden = text === "";
  parts.note.dataset.kind = kind;
}

/** How the numbers were made, with what that means. */
function captionEvidence(parts, { score, words, isLive }) {
  const header = score.header;
  parts.evidenceBox.hidden = header === null;
  if (!header) return;
  const kind = header.evidence === "simulated" ? "simulated" : isLive ? "measured" : "recorded";
  const created = new Date(header.created);
  const date = Number.isNaN(created.getTime())
    ? ""
    : new Intl.DateTimeFormat(words.labels.lang, { dateStyle: "medium", timeZone: "UTC" }).format(created);
  const name = kind === "recorded" && date ? "evidence_recorded_when" : `evidence_${kind}`;
  const company = kind === "simulated" ? null : companyOf(score);
  const condition = company && (company.isAlone ? "evidence_alone" : "evidence_load");
  const label = kind === "measured" && condition ? "" : words.say(name, { date });
  setText(parts.evidenceText, [label, condition ? words.say(condition) : ""].filter(Boolean).join(", "));
  const threads = words.say("threads", { n: header.device.threads });
  const tip = words.say(`evidence_${kind}_tip`, { date, device: header.device.name, threads });
  const others = condition
    ? words.say(`${condition}_tip`, { ahead: words.say("requests", { n: company.ahead }), most: company.most })
    : "";
  setText(parts.evidenceTip, [tip, others].filter(Boolean).join(" "));
  parts.evidence.dataset.kind = kind;
}

/** One line for the pass: what went in and what came out, as spoken and as shown beside the controls. */
export function passWords({ score, words, spell, finished }, pass) {
  const over = isOver(score);
  const count = { pass: pass.number + 1, passes: score.passes.length };
  const token = quote(words, spell, score.tokens.get(pass.first));
  const tokensOut = pass.emitted.map((emission) => quote(words, spell, emission.token)).join(" ");
  const out = pass.number > finished ? words.say("detail_running") : tokensOut || words.say("detail_nothing");
  const tokens = words.say("tokens", { n: pass.count });
  return {
    name: words.say(over ? "pass_of" : "pass_so_far", count),
    phase: words.say(pass.phase),
    detail: words.say(`detail_${pass.phase}`, { n: pass.count, tokens, token, out }),
    tokensIn: pass.count === 1 ? token : tokens,
    tokensOut: out,
  };
}
