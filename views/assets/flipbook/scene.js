/** Everything that a drawing, a caption or a control needs to know at one moment, gathered in one place. */

import { stageOf } from "./captions.js";
import { endOfTextId, isOver } from "./score.js";
import { spell } from "./tokens.js";

const NARROW = 560;
const WIDE = 940;
const BREATH_MS = 1600;

/** @param {number} width of the component, px @returns {"narrow"|"medium"|"wide"} */
export function sizeOf(width) {
  return width < NARROW ? "narrow" : width < WIDE ? "medium" : "wide";
}

/**
 * @param {import("./instance.js").Flipbook} book
 * @param {number} now ms
 */
export function sceneOf(book, now) {
  const { score, player, words } = book;
  const endId = endOfTextId(score);
  const endWord = words.say("end_of_text");
  const scene = {
    words,
    theme: book.theme,
    score,
    player,
    spell: (token) => spell(token, endId, endWord),
    hidden: book.hidden,
    glimpse: book.glimpse,
    hasRun: book.identity !== null,
    step: player.step,
    progress: player.progress,
    finished: Math.min(player.finished, player.last),
    headNs: player.headNs,
    pass: score.passes[player.step] ?? null,
    engine: engineStep(book),
    isLive: book.isLive,
    isCatchingUp: player.isCatchingUp,
    isLost: book.isLost,
    refusal: book.refusal,
    unfolded: book.unfolded,
    hoverColumn: book.hoverColumn,
    breath: book.isReduced() ? 1 : 0.5 + 0.5 * Math.sin((now / BREATH_MS) * 2 * Math.PI),
    width: book.width,
    unit: book.unit,
    size: sizeOf(book.width),
  };
  scene.stage = stageOf(scene);
  return scene;
}

/** Where the engine is, when the viewer is behind it: while the run goes on, and until a viewer on the way has arrived. */
function engineStep({ score, player, isLive }) {
  if (!isLive || player.step >= player.last) return null;
  return !isOver(score) || player.isCatchingUp ? player.last : null;
}

/** What the words on the page depend on; as long as it stays the same, only the canvases are drawn anew. */
export function sceneKey(scene) {
  const { score, player } = scene;
  return JSON.stringify([
    scene.stage,
    scene.step,
    scene.finished,
    score.events,
    score.queue?.ahead,
    scene.engine,
    scene.isCatchingUp,
    scene.isLost,
    scene.refusal?.message,
    scene.unfolded,
    scene.width,
    scene.theme.dark,
    player.isPlaying,
    player.speed(),
  ]);
}
