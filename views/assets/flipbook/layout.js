/**
 * Where the score's things lie, in CSS pixels. Numbers in, numbers out; nothing here draws.
 *
 * Down: one row a layer, attention rows taller than DeltaNet rows because they keep something for every token. Across: one
 * column a position. When the columns do not fit, those far from the cursor are folded into wide blocks that say how many
 * they hold, so the whole run stays in view; unfolded, the columns scroll.
 *
 * @typedef {{y: number, height: number, kind: "attention"|"delta", layer: number, labelled: boolean}} Row
 * @typedef {{fold: boolean, from: number, to: number, x: number, width: number}} Segment  positions [from, to)
 * @typedef {Object} Layout
 * @property {boolean} narrow
 * @property {number} unit     how much larger than on a desk everything is drawn
 * @property {number} width
 * @property {number} height
 * @property {number} gridX    left edge of the columns
 * @property {number} gridWidth
 * @property {number} gridY    top of the first row
 * @property {number} gridHeight
 * @property {number} keptX    left edge of what is kept: the state boxes, the counts
 * @property {number} outY     middle of the line on which the emitted token stands
 * @property {number} spanY    the line that names prompt and new tokens
 * @property {Row[]} rows
 * @property {Segment[]} segments
 * @property {number} pitch    distance between columns
 * @property {number} contentWidth  width of all columns, more than gridWidth where they scroll
 */

const ROW = { delta: 28, attention: 50, gap: 4 };
const TALLEST = 344;
const TALLEST_OF_MANY = 440;
const MANY_LAYERS = 40;
const WIDEST_PITCH = 46;
const HEAD_KEPT = 3;
export const PART_GAP = 12;

/**
 * How much larger than on a desk to draw. On a stage, where the page's own type is large, sooner.
 * @param {number} width  of the component @param {number} type  the page's root font size, in pixels
 */
export function unitFor(width, type = 16) {
  return Math.min(1.45, Math.max(1, width / (type > 22 ? 1100 : 1360)));
}

/**
 * @param {{width: number, unit: number, narrow: boolean, layers: ("attention"|"delta")[], promptCount: number,
 *   columns: number, cursor: number, unfolded: boolean, scroll: number, from?: number}} given  cursor: position to keep in view; from: the first of a
 *   few before it that belong with it
 * @returns {Layout}
 */
export function layOut(given) {
  const { width, unit, narrow } = given;
  const gridX = Math.round((narrow ? 32 : 118) * unit);
  const keptWidth = Math.round((narrow ? 38 : 96) * unit);
  const gridWidth = Math.max(80, width - gridX - keptWidth);
  const gridY = Math.round((narrow ? 66 : 68) * unit);
  const { rows, height: gridHeight } = rowsOf(given.layers, gridY, unit);
  const outY = gridY + gridHeight + Math.round(17 * unit);
  const spanY = outY + Math.round(24 * unit);
  return {
    narrow,
    unit,
    width,
    height: spanY + Math.round(20 * unit),
    gridX,
    gridWidth,
    gridY,
    gridHeight,
    keptX: gridX + gridWidth + Math.round((narrow ? 6 : 12) * unit),
    outY,
    spanY,
    rows,
    ...columnsOf(given, gridX, gridWidth),
  };
}

/**
 * Rows from top to bottom; many layers share a bounded height.
 *
 * @param {("attention"|"delta")[]} layers
 * @returns {{rows: Row[], height: number}}
 */
export function rowsOf(layers, top, unit) {
  const natural = layers.reduce((sum, kind) => sum + ROW[kind] + ROW.gap, 0);
  const tallest = layers.length > MANY_LAYERS ? TALLEST_OF_MANY : TALLEST;
  const scale = unit * Math.min(1, tallest / Math.max(1, natural));
  const everyOne = ROW.delta * scale >= 17;
  let y = top;
  const rows = layers.map((kind, layer) => {
    const height = ROW[kind] * scale;
    const row = { y, height, kind, layer, labelled: everyOne || (layer + 1) % 4 === 0 };
    y += height + ROW.gap * scale;
    return row;
  });
  return { rows, height: y - top };
}

function columnsOf(given, gridX, gridWidth) {
  const { promptCount, columns, unit, narrow } = given;
  const room = gridWidth - PART_GAP * unit - 6 * unit;
  // One more than there are columns: the last token is shown beside them and never fed back.
  const places = columns + 1;
  const narrowest = (narrow ? 13 : 25) * unit;
  const exact = room / places;
  if (exact >= narrowest) {
    const pitch = Math.min(exact, WIDEST_PITCH * unit);
    return { pitch, contentWidth: gridWidth, segments: singles(0, columns, gridX, pitch, promptCount, unit) };
  }
  const pitch = (narrow ? 20 : 29) * unit;
  if (given.unfolded) return scrolled(given, gridX, gridWidth, pitch);
  return { pitch, contentWidth: gridWidth, segments: folded(given, gridX, room, pitch) };
}

function singles(from, to, x, pitch, promptCount, unit) {
  const segments = [];
  for (let position = from; position < to; position += 1) {
    if (position === promptCount && position > from) x += PART_GAP * unit;
    segments.push({ fold: false, from: position, to: position + 1, x, width: pitch });
    x += pitch;
  }
  return segments;
}

function scrolled({ columns, promptCount, unit, scroll }, gridX, gridWidth, pitch) {
  const all = singles(0, columns, gridX - scroll, pitch, promptCount, unit);
  const segments = all.filter((segment) => segment.x + segment.width > gridX && segment.x < gridX + gridWidth);
  return { pitch, contentWidth: (columns + 1) * pitch + PART_GAP * unit, segments };
}

/** Width of a block that stands for many positions: more for more, but slowly. @param {number} count */
export function foldWidth(count, unit, narrow) {
  return Math.round(((narrow ? 34 : 46) + 17 * Math.log2(Math.max(1, count / 8))) * unit * (narrow ? 0.7 : 1));
}

/** The prompt's ends, and a window of new tokens that follows the cursor. */
function folded(given, gridX, room, pitch) {
  const { promptCount, columns, unit, narrow } = given;
  const prompt = foldPrompt(promptCount, unit, narrow, room, pitch);
  const promptWidth = widthOf(prompt, pitch);
  const fresh = columns - promptCount;
  const places = Math.max(1, Math.floor((room - promptWidth) / pitch) - 1);
  const parts = [...prompt, ...foldNew(promptCount, fresh, places, given, pitch)];
  return place(parts, gridX, pitch, promptCount, unit);
}

function foldPrompt(count, unit, narrow, room, pitch) {
  const kept = narrow ? 1 : HEAD_KEPT;
  const mostShown = Math.max(2 * kept + 2, Math.floor((room * 0.45) / pitch));
  if (count <= mostShown) return [{ fold: false, from: 0, to: count }];
  const middle = count - 2 * kept;
  return [
    { fold: false, from: 0, to: kept },
    { fold: true, from: kept, to: count - kept, width: foldWidth(middle, unit, narrow) },
    { fold: false, from: count - kept, to: count },
  ];
}

function foldNew(first, count, places, { cursor, from = cursor, unit, narrow }, pitch) {
  if (count <= places) return count > 0 ? [{ fold: false, from: first, to: first + count }] : [];
  const behind = Math.max(0, cursor - first);
  const taken = Math.ceil(foldWidth(count, unit, narrow) / pitch);
  const withFold = Math.max(1, places - taken);
  if (behind < Math.floor(places * 0.7)) return [{ fold: false, from: first, to: first + places }];
  // Where there is room, the column after the cursor's stays in view: there goes what came out.
  const ahead = Math.max(0, Math.min(Math.floor(withFold * 0.7), withFold - 2));
  const start = Math.max(1, Math.min(count - withFold, Math.max(2, behind - ahead), Math.max(2, from - first)));
  return [
    { fold: true, from: first, to: first + start, width: foldWidth(start, unit, narrow) },
    { fold: false, from: first + start, to: first + Math.min(count, start + withFold) },
  ];
}

function widthOf(parts, pitch) {
  return parts.reduce((sum, part) => sum + (part.fold ? part.width : (part.to - part.from) * pitch), 0);
}

function place(parts, x, pitch, promptCount, unit) {
  const segments = [];
  for (const part of parts) {
    if (part.from === promptCount && segments.length) x += PART_GAP * unit;
    if (part.fold) segments.push({ ...part, x });
    else segments.push(...singles(part.from, part.to, x, pitch, -1, unit));
    x += part.fold ? part.width : (part.to - part.from) * pitch;
  }
  return segments;
}

/** The segment in which a position is drawn, if it is in view. @param {Layout} layout @param {number} position */
export function segmentOf(layout, position) {
  return layout.segments.find((segment) => segment.from <= position && position < segment.to) ?? null;
}

/** Middle of a position's column, in a fold too. @param {Segment} segment @param {number} position */
export function middleOf(segment, position) {
  const each = segment.width / (segment.to - segment.from);
  return segment.x + (position - segment.from + 0.5) * each;
}

/** Size of an attention slot and where its top lies. @param {Layout} layout @param {Row} row */
export function slotOf(layout, row) {
  const height = Math.max(3, Math.min(24 * layout.unit, row.height * 0.46));
  const pad = Math.min(4 * layout.unit, row.height * 0.1);
  const width = Math.max(2, Math.min(layout.pitch - Math.min(6, layout.pitch * 0.22), 34 * layout.unit));
  const top = row.y + row.height - pad - height;
  return { width, height, top, middle: top + height / 2 };
}

/** Radius of a lit bead. @param {Layout} layout @param {Row} row */
export function beadRadius(layout, row) {
  return Math.max(1.5, Math.min(row.height * 0.42, layout.pitch * 0.36, 12 * layout.unit));
}

/**
 * What lies under a point of the score.
 *
 * @param {Layout} layout
 * @returns {{segment: Segment|null, row: Row|null, kept: boolean}}
 */
export function under(layout, x, y) {
  const row = layout.rows.find((each) => y >= each.y && y < each.y + each.height) ?? null;
  if (x >= layout.keptX - 4) return { segment: null, row, kept: row !== null };
  const segment = layout.segments.find((each) => x >= each.x && x < each.x + each.width) ?? null;
  return { segment: x >= layout.gridX ? segment : null, row, kept: false };
}
