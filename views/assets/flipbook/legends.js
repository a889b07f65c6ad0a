/** Words that belong to the pictures: how long things took, what the canvases show, the button on a fold. */

import { icon, setText } from "./dom.js";
import { passWords } from "./captions.js";
import { firstToken, medianGap, timeExtent } from "./score.js";

/** @param {Object} parts @param {Object} scene */
export function showTimeLegend(parts, { score, words }) {
  const { queueNs, firstTokenNs } = firstToken(score);
  const gap = medianGap(score);
  setText(parts.timeTitle, words.say("time"));
  // A wait that rounds to nothing beside the prefill is not worth a clause.
  const waited = queueNs !== null && firstTokenNs !== null && queueNs > firstTokenNs / 100;
  const values = { time: words.time(firstTokenNs), queue: words.time(queueNs) };
  setText(parts.firstToken, firstTokenNs === null ? "" : words.say(waited ? "first_token_queue" : "first_token", values));
  setText(parts.between, gap === null ? "" : words.say("between", { time: words.time(gap) }));
  const passes = words.say("passes", { n: score.passes.length });
  parts.timeCanvas.setAttribute("aria-label", words.say("time_picture", { passes, total: words.time(timeExtent(score)) }));
}

/** A sentence for the pass: the score's description, and what is announced. */
export function passSentence(scene) {
  const { words, pass } = scene;
  const said = passWords(scene, pass);
  return words.say("announced", {
    pass: said.name,
    phase: said.phase,
    tokens_in: said.tokensIn,
    tokens_out: said.tokensOut,
    kv: words.bytes(pass.kvBytes),
    state: words.bytes(pass.stateBytes),
  });
}

/** @param {Object} parts @param {Object} scene */
export function describeScore(parts, scene) {
  const { words, score, stage } = scene;
  const values = {
    tokens: words.say("tokens", { n: score.promptCount }),
    layers: words.say("layers", { n: score.layers.length }),
  };
  const untold = stage === "glimpse" ? words.say("glimpse_picture", values) : words.say("hidden_picture", values);
  const said = stage === "passes" ? passSentence(scene) : untold;
  parts.score.setAttribute("aria-label", score.header ? said : words.say(`${stage}_title`));
}

/** The button that unfolds stands over the first fold; unfolded, it stands at the left edge and folds. */
export function showUnfold(parts, { words, unfolded, stage }, layout) {
  const fold = layout.segments.find((segment) => segment.fold);
  const button = parts.unfold;
  button.hidden = stage !== "passes" || (!fold && !unfolded);
  if (button.hidden) return;
  const x = fold && !unfolded ? fold.x + fold.width / 2 : layout.gridX - 20 * layout.unit;
  const lift = fold && !unfolded ? 58 : 40;
  button.style.transform = `translate(${Math.round(x)}px, ${Math.round(layout.gridY - lift * layout.unit)}px) translateX(-50%)`;
  const name = unfolded ? "fold" : "unfold";
  if (button.dataset.shows === name) return;
  button.dataset.shows = name;
  button.replaceChildren(icon(name));
  button.setAttribute("aria-label", words.say(name));
  button.title = words.say(name);
}
