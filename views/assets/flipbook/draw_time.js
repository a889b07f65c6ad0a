/** The time axis: every pass a block, to scale, under one cursor; the wait before it as long as it was. */

import { box, fill, setFont, stroke } from "./frame.js";
import { firstToken, isOver, medianGap } from "./score.js";
import { timeScale } from "./layout_time.js";

/** Heights on a desk, px. */
export const TIME = { top: 12, block: 26, ticks: 16, bracket: 14, height: 76 };

/**
 * @param {import("./frame.js").Frame} frame
 * @param {{left: number, right: number, playNs: number|null, step: number}} view  playNs: where the play head is, if it moves
 */
export function drawTime(frame, view) {
  const scale = timeScale(frame.score, view.left, view.right - view.left);
  drawTicks(frame, scale, view);
  drawQueue(frame, scale);
  drawBlocks(frame, scale, view);
  drawCursor(frame, scale, view);
  drawBracket(frame, scale);
  if (frame.engine !== null) drawEngineMark(frame, scale);
}

function drawTicks(frame, scale, view) {
  const { ctx, theme, words, layout } = frame;
  const unit = layout.unit;
  const y = (TIME.top + TIME.block) * unit;
  setFont(frame, 11);
  ctx.textBaseline = "top";
  const path = new Path2D();
  const ticks = scale.ticks;
  ticks.forEach((ns, i) => {
    const x = scale.x(ns);
    path.moveTo(x, y + 3 * unit);
    path.lineTo(x, y + 7 * unit);
    ctx.fillStyle = theme.ink;
    ctx.globalAlpha = 0.66;
    const text = i === ticks.length - 1 ? `${words.number(ns / 1e6, 2)} ms` : words.number(ns / 1e6, 2);
    const half = ctx.measureText(text).width / 2;
    ctx.textAlign = "center";
    ctx.fillText(text, Math.min(Math.max(x, view.left + half), layout.width - half), y + 9 * unit);
  });
  ctx.globalAlpha = 1;
  stroke(ctx, theme.ink, 0.3, 1, path);
}

/** Time before the first pass: waiting, and drawn as long as it lasted. */
function drawQueue(frame, scale) {
  const { ctx, theme, score, layout } = frame;
  const waited = score.passes[0]?.startNs ?? 0;
  const width = scale.x(waited) - scale.x(0);
  if (width < 2) return;
  const y = TIME.top * layout.unit;
  const path = new Path2D();
  path.rect(scale.x(0), y + 4, width, TIME.block * layout.unit - 8);
  stroke(ctx, theme.ink, 0.4, 1, path, [3, 3]);
}

/** All passes: what is behind the cursor, what is ahead of it, and the one under it. */
function drawBlocks(frame, scale, view) {
  for (const pass of frame.score.passes) {
    if (pass.number !== view.step) drawBlock(frame, scale, pass, pass.number < view.step ? 0.5 : 0.2);
  }
  drawCurrent(frame, scale, view);
  drawFigures(frame, scale, view);
}

function drawBlock({ ctx, theme, layout }, scale, pass, strength) {
  const { x, y, width, height } = blockOf(layout, scale, pass);
  ctx.globalAlpha = strength;
  ctx.fillStyle = theme[pass.phase];
  // Hundreds of hairlines as plain rectangles: as one path, or with corners, they take most of a frame.
  if (width < 5) ctx.fillRect(x, y, width, height);
  else ctx.fill(rounded(layout, x, y, width, height));
  ctx.globalAlpha = 1;
}

/** Blocks are a little shorter than their time where that leaves a gap to see them apart by. */
function blockOf({ unit }, scale, pass) {
  const x = scale.x(pass.startNs);
  const full = Math.max(1, scale.x(pass.endNs) - x);
  return { x, y: TIME.top * unit, width: full > 5 ? full - 1 : full, height: TIME.block * unit };
}

function rounded({ unit }, x, y, width, height) {
  return box(x, y, width, height, Math.min(5 * unit, width * 0.3));
}

/** The pass under the cursor: full, or filling as its time goes by. */
function drawCurrent(frame, scale, view) {
  const { ctx, theme, score, layout } = frame;
  const pass = score.passes[view.step];
  if (!pass) return;
  const { x, y, width, height } = blockOf(layout, scale, pass);
  const path = rounded(layout, x, y, width, height);
  fill(ctx, theme[pass.phase], view.playNs === null ? 1 : 0.2, path);
  if (view.playNs === null) return;
  ctx.save();
  ctx.clip(path);
  ctx.fillStyle = theme[pass.phase];
  ctx.fillRect(x, y, Math.max(0, scale.x(view.playNs) - x), height);
  ctx.restore();
}

/** Figures stand in all blocks of the decode or in none, so that a long one does not look special for having one. */
function drawFigures(frame, scale, view) {
  const { score, layout } = frame;
  const typical = scale.x(medianGap(score) ?? Infinity) - scale.x(0);
  const middle = (TIME.top + TIME.block / 2) * layout.unit;
  for (const pass of score.passes) {
    if (pass.phase === "decode" && typical < 34 * layout.unit) break;
    const left = scale.x(pass.startNs);
    const width = scale.x(pass.endNs) - left;
    const isNow = pass.number === view.step;
    if (width < 30 * layout.unit || (isNow && view.playNs !== null)) continue;
    label(frame, pass, left + width / 2, middle, isNow);
  }
}

function label(frame, pass, x, y, isFull) {
  const { ctx, theme, words } = frame;
  setFont(frame, 12, isFull ? 650 : 450);
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillStyle = isFull ? theme.paper : theme.ink;
  ctx.fillText(words.ms(pass.endNs - pass.startNs), x, y + 0.5);
}

function drawCursor(frame, scale, view) {
  const { ctx, theme, score, layout } = frame;
  const pass = score.passes[view.step];
  if (!pass) return;
  const unit = layout.unit;
  const x = scale.x(view.playNs ?? pass.endNs);
  const line = new Path2D();
  line.moveTo(x, 5 * unit);
  line.lineTo(x, (TIME.top + TIME.block + 4) * unit);
  stroke(ctx, theme.ink, 0.9, 2 * unit, line);
  const knob = new Path2D();
  knob.arc(x, 5 * unit, 4 * unit, 0, 2 * Math.PI);
  fill(ctx, theme.ink, 1, knob);
}

/** From the request's arrival to its first token. */
function drawBracket(frame, scale) {
  const { ctx, theme, score, layout } = frame;
  const { firstTokenNs } = firstToken(score);
  if (firstTokenNs === null) return;
  const unit = layout.unit;
  const y = (TIME.top + TIME.block + TIME.ticks + 13) * unit;
  const left = scale.x(0);
  const right = scale.x(firstTokenNs);
  const path = new Path2D();
  path.moveTo(left, y - 5 * unit);
  path.lineTo(left, y);
  path.lineTo(right, y);
  path.lineTo(right, y - 5 * unit);
  stroke(ctx, theme.prefill, 1, 1.6 * unit, path);
  const rest = new Path2D();
  rest.moveTo(right + 4 * unit, y);
  rest.lineTo(scale.x(score.passes.at(-1).endNs), y);
  if (score.passes.length > 1) stroke(ctx, theme.decode, 1, 1.6 * unit, rest, isOver(score) ? [] : [4, 3]);
}

function drawEngineMark(frame, scale) {
  const { ctx, theme, score, layout } = frame;
  const x = scale.x(score.passes[frame.engine].endNs);
  const line = new Path2D();
  line.moveTo(x, 2);
  line.lineTo(x, (TIME.top + TIME.block + 4) * layout.unit);
  stroke(ctx, theme.ink, 0.75, 1.4 * layout.unit, line, [5, 4]);
}
