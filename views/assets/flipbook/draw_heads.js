/**
 * The tokens: over their columns on the way in, under the column that made them on the way out. What comes out of one pass
 * stands over the next column, where it goes in again.
 */

import { box, cut, fill, isSettled, phaseColour, setFont, stroke } from "./frame.js";
import { middleOf, segmentOf, slotOf } from "./layout.js";
import { columnCount, standing, tokenIn } from "./score.js";

const SLANT = { wide: -0.66, narrow: -0.95 };

/** @param {import("./frame.js").Frame} frame */
export function drawHeads(frame) {
  for (const segment of frame.layout.segments) {
    if (segment.fold) drawFoldHead(frame, segment);
    else drawHead(frame, segment.from, segment.x + segment.width / 2);
  }
}

function drawHead(frame, position, x) {
  const { pass, score } = frame;
  const after = pass ? pass.first + pass.count : 0;
  const isNow = pass !== null && position >= pass.first && position < after;
  const token = isNow ? tokenIn(score, pass, position) : score.tokens.get(position);
  const isRefused = isNow && pass.drafted > 0 && isSettled(frame) && position >= standing(pass);
  const isKnown = position < Math.max(after, score.promptCount);
  const isOut = pass !== null && !isNow && pass.emitted.some((emission) => emission.position === position);
  if (!token || (!isKnown && !(isOut && isSettled(frame)))) return;
  const colour = isNow || isOut ? phaseColour(frame) : frame.theme.ink;
  const strength = isNow ? 1 : isOut ? 0.95 : position < after || frame.hidden ? 0.86 : 0.62;
  slanted(frame, frame.spell(token), x, colour, isRefused ? 0.6 : strength, isNow || isOut ? 650 : 430, isRefused);
}

function slanted(frame, spelling, x, colour, strength, weight, isStruck = false) {
  const { ctx, layout } = frame;
  const slant = layout.narrow ? SLANT.narrow : SLANT.wide;
  const size = layout.narrow ? 11.5 : 13;
  setFont(frame, size, weight);
  const room = (layout.gridY - 18 * layout.unit) / Math.sin(-slant);
  const lead = ctx.measureText(spelling.lead).width;
  ctx.save();
  ctx.translate(x - 3 * layout.unit, layout.gridY - 12 * layout.unit);
  ctx.rotate(slant);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillStyle = colour;
  ctx.globalAlpha = strength * 0.45;
  ctx.fillText(spelling.lead, -lead, 0);
  ctx.globalAlpha = strength;
  const text = cut(ctx, spelling.text, room - lead);
  ctx.fillText(text, 0, 0);
  // Struck through: a guess that was wrong.
  if (isStruck) ctx.fillRect(-lead, -0.7 * layout.unit, lead + ctx.measureText(text).width, 1.4 * layout.unit);
  ctx.restore();
}

function drawFoldHead(frame, segment) {
  const { ctx, theme, layout, words } = frame;
  const n = segment.to - segment.from;
  setFont(frame, layout.narrow ? 11.5 : 13, 600);
  ctx.textAlign = "center";
  ctx.textBaseline = "alphabetic";
  ctx.fillStyle = theme.ink;
  ctx.globalAlpha = 0.78;
  const middle = segment.x + segment.width / 2;
  ctx.fillText(words.count(n), middle, layout.gridY - 22 * layout.unit);
  setFont(frame, layout.narrow ? 10.5 : 11.5);
  ctx.fillText(words.say("fold_unit", { n }), middle, layout.gridY - 9 * layout.unit);
  ctx.globalAlpha = 1;
}

/**
 * What was emitted, under the column whose odds the last of it was drawn from; at the run's end it stands over no column.
 */
export function drawOut(frame) {
  const { pass, score, layout } = frame;
  if (!pass || !isSettled(frame)) return;
  const emission = pass.emitted.at(-1);
  const source = emission && segmentOf(layout, emission.position - 1);
  if (!source) return;
  drawPill(frame, middleOf(source, emission.position - 1), pass.emitted.map((each) => frame.spell(each.token)));
  if (emission.position === columnCount(score)) {
    const last = layout.segments.at(-1);
    const x = last.x + last.width + layout.pitch / 2;
    slanted(frame, frame.spell(emission.token), x, phaseColour(frame), 0.95, 650);
  }
}

function drawPill(frame, x, spellings) {
  const { ctx, theme, layout } = frame;
  const unit = layout.unit;
  setFont(frame, 13, 650);
  const text = cut(ctx, spellings.map((spelling) => spelling.lead + spelling.text).join(" "), 190 * unit);
  const width = ctx.measureText(text).width + 20 * unit;
  const height = 22 * unit;
  const left = Math.min(Math.max(x - width / 2, layout.gridX - 4), layout.width - width - 2);
  const top = layout.outY - height / 2 + 2 * unit;
  const stem = new Path2D();
  stem.moveTo(x, layout.gridY + layout.gridHeight - 4 * unit);
  stem.lineTo(x, top);
  stroke(ctx, phaseColour(frame), 1, 1.6 * unit, stem);
  fill(ctx, phaseColour(frame), 1, box(left, top, width, height, 11 * unit));
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillStyle = theme.paper;
  ctx.fillText(text, left + width / 2, top + height / 2 + 0.5 * unit);
}

/** How many columns come after the last in view. @param {import("./frame.js").Frame} frame */
export function drawRest(frame) {
  const { ctx, theme, layout, score, hidden, words, pass } = frame;
  const last = layout.segments.at(-1);
  const more = last ? columnCount(score) - last.to : 0;
  if (hidden || !pass || more <= 0 || layout.contentWidth > layout.gridWidth) return;
  setFont(frame, 12, 600);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillStyle = theme.ink;
  for (const row of layout.rows) {
    if (row.kind !== "attention" || !row.labelled) continue;
    ctx.globalAlpha = 0.6;
    ctx.fillText(`+${words.count(more)}`, last.x + last.width + 8 * layout.unit, slotOf(layout, row).middle);
  }
  ctx.globalAlpha = 1;
}

/** Names the two parts under the grid: what was given, and what was made and fed back. @param {import("./frame.js").Frame} frame */
export function drawSpans(frame) {
  const { score, layout, words, hidden } = frame;
  const inPrompt = layout.segments.filter((segment) => segment.from < score.promptCount);
  const fresh = layout.segments.filter((segment) => segment.from >= score.promptCount);
  span(frame, inPrompt, words.say("prompt_span", { n: score.promptCount }), words.count(score.promptCount));
  if (!hidden) span(frame, fresh, words.say("new_span"), words.say("new_span_short"));
}

function span(frame, segments, long, short) {
  if (!segments.length) return;
  const { ctx, theme, layout } = frame;
  const unit = layout.unit;
  const left = segments[0].x + 2;
  const right = segments.at(-1).x + segments.at(-1).width - 2;
  const y = layout.spanY + 8 * unit;
  setFont(frame, 12);
  const text = ctx.measureText(long).width < right - left - 12 * unit ? long : short;
  const width = ctx.measureText(text).width + 10 * unit;
  if (width > right - left) return;
  const middle = (left + right) / 2;
  const path = new Path2D();
  for (const [from, to, edge] of [[left, middle - width / 2, left], [middle + width / 2, right, right]]) {
    path.moveTo(from, y);
    path.lineTo(to, y);
    path.moveTo(edge, y - 4 * unit);
    path.lineTo(edge, y + 4 * unit);
  }
  stroke(ctx, theme.ink, 0.35, 1, path);
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillStyle = theme.ink;
  ctx.globalAlpha = 0.72;
  ctx.fillText(text, middle, y);
  ctx.globalAlpha = 1;
}
