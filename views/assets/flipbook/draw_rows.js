/**
 * The layers. A DeltaNet row is a thread with a bead for each token, all strung onto the one state at its end. An attention
 * row is a shelf of slots, and each token that has passed leaves a chip (its key and value) in its slot.
 */

import { box, fill, isSettled, phaseColour, pieces, reached, stroke } from "./frame.js";
import { drawArcs } from "./draw_reads.js";
import { beadRadius, slotOf } from "./layout.js";
import { keepsNothing } from "./score.js";

/** @param {import("./frame.js").Frame} frame */
export function drawRows(frame) {
  const cut = frame.layout.segments.flatMap((segment) => pieces(frame, segment));
  for (const row of frame.layout.rows) {
    if (row.kind === "attention") {
      drawShelf(frame, row, cut);
      drawArcs(frame, row, cut);
      drawSlots(frame, row, cut);
    } else {
      drawThread(frame, row, cut);
      drawBeads(frame, row, cut);
    }
  }
}

function drawShelf(frame, row, cut) {
  const { ctx, theme, layout } = frame;
  const last = cut.at(-1);
  if (!last) return;
  const right = last.x + last.width;
  const path = box(layout.gridX - 3, row.y, right - layout.gridX + 6, row.height, 7 * layout.unit);
  fill(ctx, theme.kv, theme.dark ? 0.1 : 0.07, path);
}

function drawThread(frame, row, cut) {
  const { ctx, theme, layout } = frame;
  const y = row.y + row.height / 2;
  const done = cut.filter((piece) => piece.status === "past" || (piece.status === "now" && reached(frame, row.layer) > 0));
  const last = done.at(-1);
  const strung = last ? last.x + last.width / (last.fold ? 1 : 2) : layout.gridX;
  const line = (from, to) => {
    const path = new Path2D();
    path.moveTo(from, y);
    path.lineTo(to, y);
    return path;
  };
  const weight = Math.min(1.6 * layout.unit, row.height * 0.12);
  if (!frame.hidden) stroke(ctx, theme.state, 0.13, weight, line(strung, layout.keptX));
  if (!last) return;
  stroke(ctx, theme.state, 0.42, weight, line(layout.gridX, strung));
  const isGone = frame.pass && keepsNothing(frame.pass) && isSettled(frame);
  if (last.status === "now" && !isGone) drawRewrite(frame, strung, layout.keptX - 2 * layout.unit, y, weight);
}

/** What the last token leaves goes into the state at the end of the thread. */
function drawRewrite({ ctx, theme, layout }, from, to, y, weight) {
  const path = new Path2D();
  const head = Math.min(4.5 * layout.unit, 3 * weight);
  path.moveTo(from, y);
  path.lineTo(to, y);
  path.moveTo(to - head, y - head);
  path.lineTo(to, y);
  path.lineTo(to - head, y + head);
  stroke(ctx, theme.state, 0.85, weight, path);
}

function drawBeads(frame, row, cut) {
  const { ctx, theme, layout } = frame;
  const y = row.y + row.height / 2;
  const radius = beadRadius(layout, row);
  const share = reached(frame, row.layer);
  const groups = { past: new Path2D(), now: new Path2D(), refused: new Path2D(), known: new Path2D() };
  const size = { past: 0.42, now: 1, refused: 0.8, known: 0.72 };
  for (const piece of cut) {
    if (piece.status === "next") continue;
    const r = radius * (piece.status === "now" && share === 0 ? size.known : size[piece.status]);
    if (piece.fold) box(piece.x + 3, y - r, piece.width - 6, 2 * r, r, groups[piece.status]);
    else addCircle(groups[piece.status], piece.x + piece.width / 2, y, r);
  }
  fill(ctx, theme.paper, 1, groups.past);
  stroke(ctx, theme.ink, 0.3, 1, groups.past);
  fill(ctx, theme.paper, 1, groups.known);
  stroke(ctx, theme.ink, 0.34, 1, groups.known);
  drawNow(frame, groups.now, share);
  drawRefused(frame, groups.refused);
}

/** A guess that was wrong: an empty, broken outline in the pass's colour. It left nothing behind. */
function drawRefused(frame, path) {
  fill(frame.ctx, frame.theme.paper, 1, path);
  stroke(frame.ctx, phaseColour(frame), 0.9, 1.3 * frame.layout.unit, path, [2.5, 2.5]);
}

function addCircle(path, x, y, radius) {
  path.moveTo(x + radius, y);
  path.arc(x, y, radius, 0, 2 * Math.PI);
}

/** What goes in: empty until the sweep reaches the row, then lit. */
function drawNow(frame, path, share) {
  const { ctx, theme } = frame;
  const colour = phaseColour(frame);
  fill(ctx, theme.paper, 1, path);
  if (share < 1) stroke(ctx, colour, 0.55, 1.2, path);
  if (share > 0) fill(ctx, colour, 0.25 + 0.75 * share, path);
}

function drawSlots(frame, row, cut) {
  const { ctx, theme, layout } = frame;
  const slot = slotOf(layout, row);
  const share = reached(frame, row.layer);
  const groups = Object.fromEntries(["past", "now", "refused", "known", "next"].map((status) => [status, new Path2D()]));
  const leaves = share > 0 && !(frame.pass && keepsNothing(frame.pass) && isSettled(frame));
  const chips = { past: new Path2D(), now: new Path2D() };
  for (const piece of cut) {
    addSlot(groups[piece.status], piece, slot, layout);
    if (piece.status === "past") addChips(chips.past, piece, slot, 0, layout);
    // The chip drops into its slot while the row is computed; a pass that keeps nothing takes it away at its end.
    if (piece.status === "now" && leaves) addChips(chips.now, piece, slot, (1 - share) * slot.height * 0.5, layout);
  }
  fill(ctx, theme.kv, theme.dark ? 0.2 : 0.15, groups.past);
  fill(ctx, theme.kv, 1, chips.past);
  fill(ctx, theme.paper, 0.75, groups.known);
  stroke(ctx, theme.ink, 0.3, 1, groups.known);
  stroke(ctx, theme.ink, 0.2, 1, groups.next, [1.5, 3]);
  drawNow(frame, groups.now, share);
  drawRefused(frame, groups.refused);
  fill(ctx, theme.paper, share, chips.now);
}

function addSlot(path, piece, slot, layout) {
  if (piece.fold) {
    box(piece.x + 2, slot.top, piece.width - 4, slot.height, 4 * layout.unit, path);
    return;
  }
  const width = piece.status === "next" ? slot.width * 0.8 : slot.width;
  box(piece.x + (piece.width - width) / 2, slot.top, width, slot.height, 4 * layout.unit, path);
}

/** A key and a value for each token: two bars, or hairlines where a block stands for many tokens. */
function addChips(path, piece, slot, lift, layout) {
  if (piece.fold) addHairlines(path, piece, slot, lift);
  else addChip(path, piece.x + piece.width / 2, slot, lift, layout);
}

function addChip(path, middle, slot, lift, layout) {
  const width = slot.width * 0.64;
  const bar = Math.max(1, slot.height * 0.19);
  const gap = Math.max(1, slot.height * 0.13);
  const top = slot.top + (slot.height - 2 * bar - gap) / 2 - lift;
  box(middle - width / 2, top, width, bar, 1.5 * layout.unit, path);
  box(middle - width / 2, top + bar + gap, width, bar, 1.5 * layout.unit, path);
}

/** One hairline a token as long as they stay apart, then as many as fit: the block gets dense, as the cache does. */
function addHairlines(path, piece, slot, lift) {
  const count = Math.min(piece.to - piece.from, Math.floor((piece.width - 10) / 3));
  const each = (piece.width - 10) / count;
  const height = slot.height * 0.56;
  for (let i = 0; i < count; i += 1) {
    path.rect(piece.x + 5 + (i + 0.5) * each - 0.75, slot.top + (slot.height - height) / 2 - lift, 1.5, height);
  }
}
