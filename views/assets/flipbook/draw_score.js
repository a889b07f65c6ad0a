/** The score: every drawing of it in order, from the cursor's wash to the words on top. */

import { box, fill, isSettled, phaseColour, setFont, stroke } from "./frame.js";
import { drawHeads, drawOut, drawRest, drawSpans } from "./draw_heads.js";
import { drawKept, drawNames } from "./draw_kept.js";
import { drawRows } from "./draw_rows.js";
import { segmentOf } from "./layout.js";

/** @param {import("./frame.js").Frame} frame */
export function drawScore(frame) {
  const { ctx, layout } = frame;
  ctx.save();
  ctx.beginPath();
  // Scrolling columns go under the edges; otherwise the last token may stand over what is kept.
  const right = layout.contentWidth > layout.gridWidth ? layout.keptX - 8 : layout.width;
  ctx.rect(layout.gridX - 6, 0, right - layout.gridX + 6, layout.height);
  ctx.clip();
  if (frame.hidden) drawQuestion(frame);
  drawWash(frame);
  drawHover(frame);
  drawRows(frame);
  drawFront(frame);
  drawHeads(frame);
  drawSpans(frame);
  drawRest(frame);
  drawOut(frame);
  drawEngine(frame);
  ctx.restore();
  drawNames(frame);
  drawKept(frame);
}

/** The columns that go in now, from the first in view to the last: [left, right] or null. */
function nowExtent(frame) {
  const { pass, layout } = frame;
  if (!pass) return null;
  const inside = layout.segments.filter((each) => each.to > pass.first && each.from < pass.first + pass.count);
  if (!inside.length) return null;
  return [inside[0].x, inside.at(-1).x + inside.at(-1).width];
}

/** The cursor: one block of columns for prefill, one column for decode. */
function drawWash(frame) {
  const extent = nowExtent(frame);
  if (!extent) return;
  const { ctx, layout, theme } = frame;
  const top = layout.gridY - 7 * layout.unit;
  const height = layout.gridHeight + 12 * layout.unit;
  const path = box(extent[0], top, extent[1] - extent[0], height, 9 * layout.unit);
  const strength = frame.score.passes.length ? 1 : 0.5 + frame.breath;
  fill(ctx, phaseColour(frame), (theme.dark ? 0.17 : 0.11) * strength, path);
}

function drawHover(frame) {
  if (frame.hoverColumn < 0) return;
  const { ctx, layout, theme } = frame;
  const segment = segmentOf(layout, frame.hoverColumn);
  if (!segment) return;
  const path = box(segment.x, layout.gridY - 7 * layout.unit, segment.width, layout.gridHeight + 12 * layout.unit, 9);
  fill(ctx, theme.ink, 0.06, path);
}

/** What is not told yet: one open place after the prompt, whatever comes there. */
function drawQuestion(frame) {
  const { ctx, layout, theme } = frame;
  const last = layout.segments.at(-1);
  if (!last) return;
  const unit = layout.unit;
  const left = last.x + last.width + 14 * unit;
  const right = layout.keptX - 24 * unit;
  if (right - left < 30 * unit) return;
  const path = box(left, layout.gridY - 6 * unit, right - left, layout.gridHeight + 6 * unit, 12 * unit);
  fill(ctx, theme.ink, 0.035, path);
  stroke(ctx, theme.ink, 0.28, 1.2 * unit, path, [4 * unit, 5 * unit]);
  setFont(frame, Math.min(96, (right - left) / unit), 300);
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillStyle = theme.ink;
  ctx.globalAlpha = 0.3;
  ctx.fillText("?", (left + right) / 2, layout.gridY + layout.gridHeight / 2);
  ctx.globalAlpha = 1;
}

/** The sweep: a bright line across all columns of the pass at the layer that is being computed. */
function drawFront(frame) {
  const extent = nowExtent(frame);
  if (!extent || isSettled(frame)) return;
  const { ctx, layout } = frame;
  const row = layout.rows[Math.min(layout.rows.length - 1, Math.floor(frame.front))];
  const y = row.y + row.height * Math.min(1, frame.front - row.layer);
  const glow = ctx.createLinearGradient(0, y - 22 * layout.unit, 0, y);
  // The same colour without strength: "transparent" is a black that would grey the way.
  glow.addColorStop(0, `${phaseColour(frame)}00`);
  glow.addColorStop(1, phaseColour(frame));
  ctx.globalAlpha = 0.28;
  ctx.fillStyle = glow;
  ctx.fillRect(extent[0], y - 22 * layout.unit, extent[1] - extent[0], 22 * layout.unit);
  ctx.globalAlpha = 1;
  const line = new Path2D();
  line.moveTo(extent[0], y);
  line.lineTo(extent[1], y);
  stroke(ctx, phaseColour(frame), 1, 2 * layout.unit, line);
}

/** The second cursor: where the engine is, when the viewer is behind it. */
function drawEngine(frame) {
  if (frame.engine === null) return;
  const { ctx, layout, theme, score, words } = frame;
  const pass = score.passes[frame.engine];
  const segment = segmentOf(layout, pass.first + pass.count - 1);
  const right = layout.segments.at(-1);
  const x = segment ? segment.x + segment.width : Math.min(layout.keptX - 14, right.x + right.width);
  const line = new Path2D();
  line.moveTo(x, layout.gridY - 34 * layout.unit);
  line.lineTo(x, layout.gridY + layout.gridHeight + 6 * layout.unit);
  stroke(ctx, theme.ink, 0.75, 1.4 * layout.unit, line, [5, 4]);
  setFont(frame, 11.5, 600);
  const text = words.say("engine_here");
  const width = ctx.measureText(text).width + 12 * layout.unit;
  const left = Math.min(x - width / 2, layout.width - width - 2);
  const top = layout.gridY - 50 * layout.unit;
  fill(ctx, theme.ink, 1, box(left, top, width, 18 * layout.unit, 5));
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillStyle = theme.paper;
  ctx.fillText(text, left + width / 2, top + 9 * layout.unit);
}
