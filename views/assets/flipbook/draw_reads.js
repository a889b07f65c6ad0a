/**
 * What a pass reads. Each attention row reads back every chip that it keeps: an arc to each. Tokens that are in flight
 * together attend to those before them as well: fine arcs in the pass's own colour, nothing read back.
 */

import { phaseColour, reached, stroke } from "./frame.js";
import { slotOf } from "./layout.js";

const MOST_ARCS_IN_A_FOLD = 7;
const MOST_PAIRS = 420;

/** @param {import("./frame.js").Frame} frame @param {import("./layout.js").Row} row */
export function drawArcs(frame, row, cut) {
  const share = reached(frame, row.layer);
  if (!frame.pass || share === 0) return;
  const now = ends(cut, "now");
  if (now.length > 1) drawCausal(frame, row, now, share);
  drawReads(frame, row, ends(cut, "past"), now.at(-1) ?? beyond(frame), share);
}

/** Scrolled away from the cursor, its arcs come in from the right. */
function beyond({ layout, pass }) {
  const last = layout.segments.at(-1);
  return last && pass.first >= last.to ? layout.gridX + layout.gridWidth + 3 * layout.pitch : undefined;
}

/** Middles of columns with a status; a few of them for a fold. */
function ends(cut, status) {
  return cut
    .filter((piece) => piece.status === status)
    .flatMap((piece) => (piece.fold ? spread(piece) : [piece.x + piece.width / 2]));
}

function spread(piece) {
  const count = Math.min(MOST_ARCS_IN_A_FOLD, piece.to - piece.from);
  return Array.from({ length: count }, (_, i) => piece.x + 6 + ((i + 0.5) * (piece.width - 12)) / count);
}

function drawReads(frame, row, targets, source, share) {
  if (source === undefined || targets.length === 0) return;
  const { ctx, theme, layout } = frame;
  const slot = slotOf(layout, row);
  const path = new Path2D();
  for (const target of targets) addArc(path, source, target, row, slot, layout);
  // In a low row the arcs lie close: fainter, so that they do not run together.
  const strength = row.height < 22 * layout.unit ? 0.36 : 0.62;
  stroke(ctx, theme.kv, share * strength, Math.max(0.7, 1.05 * layout.unit), path);
}

/** Every pair of earlier and later: as many arcs as attention has weights. Many columns show those of the last alone. */
function drawCausal(frame, row, columns, share) {
  const { ctx, layout } = frame;
  const slot = slotOf(layout, row);
  const path = new Path2D();
  const pairs = (columns.length * (columns.length - 1)) / 2;
  const readers = pairs * attentionRows(layout) <= MOST_PAIRS ? columns : columns.slice(-1);
  for (const reader of readers) {
    for (const target of columns) {
      if (target >= reader) break;
      addArc(path, reader, target, row, slot, layout);
    }
  }
  stroke(ctx, phaseColour(frame), share * (readers.length > 1 ? 0.3 : 0.5), Math.max(0.6, 0.9 * layout.unit), path);
}

function attentionRows(layout) {
  return layout.rows.filter((row) => row.kind === "attention").length;
}

/** Farther reaches higher, so that arcs do not lie on each other. */
function addArc(path, source, target, row, slot, layout) {
  const room = slot.top - row.y - 1;
  const far = Math.min(1, Math.abs(source - target) / Math.max(1, layout.gridWidth * 0.7));
  const rise = room * (0.32 + 0.68 * Math.sqrt(far));
  path.moveTo(source, slot.top);
  path.bezierCurveTo(source, slot.top - rise * 1.33, target, slot.top - rise * 1.33, target, slot.top);
}
