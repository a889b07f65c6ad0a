/** The mouse and the finger on the pictures: what is this, and take me there. */

import { setText } from "./dom.js";
import { under } from "./layout.js";
import { passAt, timeScale } from "./layout_time.js";
import { standing } from "./score.js";
import { spelt } from "./tokens.js";

/**
 * @param {Object} parts from skeleton.js
 * @param {{scene: () => Object, layout: () => import("./layout.js").Layout|null, hover: (position: number) => void,
 *   go: (step: number) => void, unfold: (position: number) => void}} actions
 */
export function connectPointer(parts, actions) {
  parts.score.onpointermove = (event) => overScore(event, parts, actions);
  parts.score.onpointerleave = () => leave(parts, actions);
  parts.score.onclick = (event) => clickScore(event, actions);
  parts.timeCanvas.onpointermove = (event) => overTime(event, parts, actions);
  parts.timeCanvas.onpointerleave = () => leave(parts, actions);
  parts.timeCanvas.onpointerdown = (event) => {
    parts.timeCanvas.setPointerCapture(event.pointerId);
    actions.go(stepAtTime(event, parts, actions));
  };
}

function leave(parts, actions) {
  parts.tip.hidden = true;
  actions.hover(-1);
}

function thing(event, actions) {
  const layout = actions.layout();
  if (!layout) return { segment: null, row: null, kept: false };
  return under(layout, event.offsetX, event.offsetY);
}

function clickScore(event, actions) {
  const { segment } = thing(event, actions);
  const { score, stage } = actions.scene();
  if (!segment || stage !== "passes") return;
  if (segment.fold) {
    actions.unfold(segment.from);
    return;
  }
  const pass = score.passes.find((each) => each.first <= segment.from && segment.from < standing(each));
  if (pass) actions.go(pass.number);
}

function overScore(event, parts, actions) {
  const found = thing(event, actions);
  const scene = actions.scene();
  actions.hover(found.segment && !found.segment.fold ? found.segment.from : -1);
  const lines = describe(found, scene);
  if (lines.length) showTip(parts, event, lines);
  else parts.tip.hidden = true;
}

/** What a place of the score is, in words. */
function describe({ segment, row, kept }, { score, words, spell, finished, hidden, stage }) {
  const layer = row ? row.layer + 1 : 0;
  const held = score.passes[finished]?.held ?? 0;
  if (kept && stage === "passes") {
    return [words.say(`tip_kept_${row.kind}`, { layer, entries: words.say("entries", { n: held }) })];
  }
  if (!segment) return [];
  if (segment.fold) return [words.say("tip_fold", { n: segment.to - segment.from })];
  const isKnown = segment.from < Math.max(held, score.promptCount);
  const token = isKnown ? score.tokens.get(segment.from) : null;
  const lines = token
    ? [words.say("tip_token", { token: words.say("quoted", { token: spelt(spell(token)) }), position: segment.from })]
    : [];
  if (row && !hidden) lines.push(words.say(row.kind === "attention" && !token ? "tip_attention_next" : `tip_${row.kind}`, { layer }));
  return lines;
}

function stepAtTime(event, parts, actions) {
  const { score } = actions.scene();
  const scale = timeScale(score, 5, parts.timeCanvas.clientWidth - 10);
  const share = (event.offsetX - 5) / Math.max(1, parts.timeCanvas.clientWidth - 10);
  return passAt(score, share * scale.extentNs);
}

function overTime(event, parts, actions) {
  const { score, words } = actions.scene();
  const step = stepAtTime(event, parts, actions);
  if (event.buttons === 1) actions.go(step);
  const pass = score.passes[step];
  if (!pass) return;
  const said = { pass: step + 1, phase: words.say(pass.phase), time: words.time(pass.endNs - pass.startNs) };
  showTip(parts, event, [words.say("tip_pass", said)]);
}

function showTip(parts, event, lines) {
  const { tip, root } = parts;
  setText(tip, lines.join("\n"));
  tip.hidden = false;
  const box = root.getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  const left = Math.min(Math.max(0, x + 14), Math.max(0, box.width - tip.offsetWidth - 4));
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(y + 18)}px)`;
}
