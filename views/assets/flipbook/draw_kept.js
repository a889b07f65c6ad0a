/**
 * The left edge names the layers; the right edge shows what each of them keeps: a count of entries that grows, or one state
 * of one size.
 */

import { box, fill, isSettled, reached, setFont, stroke } from "./frame.js";
import { slotOf } from "./layout.js";
import { keepsNothing } from "./score.js";

/** @param {import("./frame.js").Frame} frame */
export function drawNames(frame) {
  const { ctx, theme, layout, words } = frame;
  ctx.textBaseline = "middle";
  for (const row of layout.rows) {
    const y = lineOf(layout, row);
    drawGlyph(frame, row, layout.gridX - (layout.narrow ? 13 : 22) * layout.unit, y);
    if (!row.labelled) continue;
    ctx.textAlign = "right";
    const numberX = layout.gridX - (layout.narrow ? 22 : 100) * layout.unit;
    setFont(frame, 11.5);
    ctx.fillStyle = theme.ink;
    ctx.globalAlpha = 0.66;
    ctx.fillText(words.count(row.layer + 1), numberX, y);
    ctx.globalAlpha = 1;
    if (layout.narrow) continue;
    setFont(frame, 13, 550);
    ctx.fillStyle = row.kind === "attention" ? theme.kv : theme.state;
    ctx.fillText(words.say(row.kind), layout.gridX - 36 * layout.unit, y);
  }
}

/** The height at which a row's tokens lie. */
function lineOf(layout, row) {
  return row.kind === "attention" ? slotOf(layout, row).middle : row.y + row.height / 2;
}

/** The shape that a kind of layer has everywhere: upright entries, or one bead. */
function drawGlyph(frame, row, x, y) {
  const { ctx, theme, layout } = frame;
  const size = Math.min(11 * layout.unit, row.height * 0.7);
  const path = new Path2D();
  if (row.kind === "attention") {
    for (let i = -1; i <= 1; i += 1) box(x + i * size * 0.42 - size * 0.14, y - size / 2, size * 0.28, size, 1, path);
  } else {
    path.arc(x, y, size * 0.5, 0, 2 * Math.PI);
  }
  fill(ctx, row.kind === "attention" ? theme.kv : theme.state, 1, path);
}

/** @param {import("./frame.js").Frame} frame */
export function drawKept(frame) {
  const { ctx, theme, layout, words } = frame;
  const x = layout.keptX;
  if (layout.rows.length) {
    setFont(frame, 12);
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.fillStyle = theme.ink;
    ctx.globalAlpha = 0.72;
    const text = words.say("kept");
    // In some languages it is longer than the column is wide; then it ends where the picture does.
    const start = Math.min(x, layout.width - ctx.measureText(text).width);
    ctx.fillText(text, start, layout.gridY - 9 * layout.unit);
    ctx.globalAlpha = 1;
  }
  for (const row of layout.rows) {
    if (row.kind === "attention") drawCount(frame, row, x);
    else drawState(frame, row, x);
  }
}

function drawCount(frame, row, x) {
  const { ctx, theme, layout, words, pass } = frame;
  const share = reached(frame, row.layer);
  const held = pass ? (share >= 1 ? pass.held : pass.first) : 0;
  if (frame.hidden || held === 0) return;
  setFont(frame, Math.min(13, Math.max(9, (row.height * 0.8) / layout.unit)), 650);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillStyle = theme.kv;
  const text = layout.narrow ? words.count(held) : words.say("entries", { n: held });
  ctx.fillText(text, x, lineOf(layout, row));
}

/** The state box: a small matrix, always of one size. It shows that there is one and when it is rewritten, not its values. */
function drawState(frame, row, x) {
  const { ctx, theme, layout, pass } = frame;
  const side = Math.min(26 * layout.unit, row.height);
  const y = row.y + (row.height - side) / 2;
  const share = reached(frame, row.layer);
  const path = box(x, y, side, side, side * 0.22);
  const isGone = pass !== null && keepsNothing(pass) && isSettled(frame);
  const exists = !frame.hidden && pass !== null && !isGone && (pass.first > 0 || share > 0);
  if (!exists) {
    stroke(ctx, theme.state, 0.4, 1, path, [2, 3]);
    return;
  }
  fill(ctx, theme.state, pass.first > 0 ? 1 : share, path);
  drawMatrix(frame, x, y, side);
  drawPulse(frame, row, x, y, side);
}

function drawMatrix(frame, x, y, side) {
  const cells = side >= 18 ? 4 : side >= 9 ? 3 : 0;
  if (!cells) return;
  const margin = side * 0.17;
  const each = (side - 2 * margin) / cells;
  const path = new Path2D();
  for (let i = 0; i < cells * cells; i += 1) {
    const column = i % cells;
    const line = Math.floor(i / cells);
    box(x + margin + column * each + each * 0.14, y + margin + line * each + each * 0.14, each * 0.72, each * 0.72, 1, path);
  }
  fill(frame.ctx, frame.theme.paper, 0.6, path);
}

/** A ring that leaves the box as it is rewritten; gone once the pass has settled. */
function drawPulse(frame, row, x, y, side) {
  const since = (frame.front - row.layer) / 2.5;
  if (since <= 0 || since >= 1 || frame.front >= frame.layout.rows.length) return;
  const grow = since * side * 0.35;
  const ring = box(x - grow, y - grow, side + 2 * grow, side + 2 * grow, side * 0.22 + grow);
  stroke(frame.ctx, frame.theme.state, 1 - since, 2 * frame.layout.unit, ring);
}
