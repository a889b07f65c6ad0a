/** The odds that a pass produced, and what is kept after it, in figures. */

import { element, setText } from "./dom.js";
import { crossover, keepsNothing, kvBytesPerPosition } from "./score.js";

const MOST_BARS = 6;

/**
 * The odds as rows to draw: leading candidates, the choice among them, the rest of the vocabulary last.
 *
 * `share` is what the draw was made from (the model's own odds when the choice is greedy), `model` the model's own.
 *
 * @param {import("./score.js").Emission} emission
 * @param {Object} sampling  the header's
 * @param {number} vocabulary
 */
export function oddsRows(emission, sampling, vocabulary) {
  const greedy = sampling.temperature === 0;
  const chosen = emission.candidates.findIndex((candidate) => candidate.token.id === emission.token.id);
  const shown = emission.candidates.slice(0, MOST_BARS);
  if (chosen >= MOST_BARS) shown[MOST_BARS - 1] = emission.candidates[chosen];
  const rows = shown.map((candidate) => ({
    token: candidate.token,
    share: greedy ? candidate.model : candidate.sampled,
    model: candidate.model,
    isChosen: candidate.token.id === emission.token.id,
    isCut: !greedy && candidate.sampled === 0,
  }));
  const rest = (name) => Math.max(0, 1 - rows.reduce((sum, row) => sum + row[name], 0));
  return { rows, others: { count: vocabulary - rows.length, share: rest("share"), model: rest("model") } };
}

/** @param {Object} parts @param {Object} scene */
export function showOdds(parts, scene) {
  const { score, words, spell, finished } = scene;
  const pass = score.passes[finished];
  setText(parts.oddsTitle, pass ? words.say("odds", { pass: finished + 1 }) : words.say("odds_none"));
  const emission = pass?.emitted[0];
  if (!emission) {
    parts.bars.replaceChildren(...Array.from({ length: MOST_BARS + 1 }, emptyRow));
    setText(parts.oddsNote, words.say(pass ? "odds_silent" : "odds_wait"));
    return;
  }
  const sampling = score.header.sampling;
  const { rows, others } = oddsRows(emission, sampling, score.header.model.vocab_size);
  const ticked = sampling.temperature !== 0 && rows.some((row) => Math.abs(row.share - row.model) > 0.005);
  parts.bars.dataset.phase = pass.phase;
  parts.bars.replaceChildren(
    ...rows.map((row) => oddsRow(words, spell(row.token), row, ticked)),
    oddsRow(words, { lead: "", text: words.say("others", { n: others.count }), plain: false }, { ...others, isOthers: true }, ticked),
  );
  setText(parts.oddsNote, oddsNote(words, spell, sampling, ticked, pass));
}

function oddsRow(words, spelling, row, ticked) {
  const kind = row.isChosen ? "chosen" : row.isCut ? "cut" : row.isOthers ? "others" : "plain";
  const token = element("span", { class: "fb-bar-token" }, element("span", { class: "fb-lead" }, spelling.lead), spelling.text);
  const name = element("span", { class: "fb-bar-name" }, token);
  const length = (share) => `${Math.max(0, Math.min(1, share)) * 100}%`;
  const bar = element("span", { class: "fb-bar-fill" });
  bar.style.width = length(row.share);
  const track = element("span", { class: "fb-bar-track", "aria-hidden": "true" }, bar);
  if (ticked && Math.abs(row.share - row.model) > 0.005) {
    const tick = element("span", { class: "fb-bar-tick" });
    tick.style.left = length(row.model);
    track.append(tick);
  }
  const figure = element("span", { class: "fb-bar-figure" }, row.isCut ? words.say("cut") : words.percent(row.share));
  if (row.isChosen) figure.append(element("span", { class: "fb-unseen" }, ` ${words.say("chosen")}`));
  return element("div", { class: `fb-bar-row fb-bar-${kind}`, role: "listitem" }, name, track, figure);
}

/** A row that keeps the place of odds that do not exist yet. */
function emptyRow() {
  const track = element("span", { class: "fb-bar-track", "aria-hidden": "true" });
  return element("div", { class: "fb-bar-row", role: "listitem" }, element("span"), track, element("span"));
}

function oddsNote(words, spell, sampling, ticked, pass) {
  const extra = pass.emitted.slice(1).map((emission) => spell(emission.token).text);
  const more = extra.length ? ` ${words.say("odds_more", { n: extra.length })} ${extra.join(" ")}` : "";
  if (sampling.temperature === 0) return words.say("odds_greedy") + more;
  let truncation = sampling.top_k > 0 ? words.say("odds_top_k", { n: sampling.top_k }) : "";
  if (sampling.top_p < 1) truncation += words.say("odds_top_p", { share: words.number(sampling.top_p, 3) });
  const temperature = words.number(sampling.temperature, 2);
  const drawn = words.say("odds_drawn", { temperature, truncation });
  return (ticked ? `${drawn} ${words.say("odds_tick")}` : drawn) + more;
}

/** @param {Object} parts @param {Object} scene */
export function showMemory(parts, scene) {
  const { score, words, finished } = scene;
  const pass = score.passes[finished];
  const each = kvBytesPerPosition(score);
  const tokens = pass ? words.say("tokens", { n: pass.held }) : "";
  setText(parts.kv.value, pass ? words.bytes(pass.kvBytes) : "");
  const detail = each === null ? words.say("memory_nothing") : words.say("kv_detail", { tokens, each: words.bytes(each) });
  setText(parts.kv.detail, pass ? detail : "");
  parts.state.whole.hidden = pass?.stateBytes === 0;
  parts.kv.whole.hidden = each === 0;
  setText(parts.state.value, pass ? words.bytes(pass.stateBytes) : "");
  setText(parts.state.detail, pass ? words.say("state_detail") : "");
  parts.memoryCanvas.setAttribute("aria-label", pass ? memoryWords(words, pass, each, tokens, crossover(score)) : words.say("memory"));
}

function memoryWords(words, pass, each, tokens, meeting) {
  if (keepsNothing(pass)) return words.say("memory_nothing");
  const values = { kv: words.bytes(pass.kvBytes), tokens, each: words.bytes(each), state: words.bytes(pass.stateBytes) };
  const said = words.say("memory_picture", values);
  if (!meeting) return said;
  return `${said} ${words.say("memory_picture_meeting", { tokens: words.say("tokens", { n: meeting }) })}`;
}
