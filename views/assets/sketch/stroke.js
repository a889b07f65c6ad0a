/**
 * What a hand does, as values at marks. Everything is in shares of the drawing: x from 0 (left edge) to 1, y from 0 (the
 * lower end) to 1.
 *
 * @typedef {{x: number, y: number}} Point
 */

/** A hand that means a mark may miss it by so much. */
const NEAR = 0.012;

/** The mark that a press or a release means: the nearest one. @param {number[]} marks  in shares @param {number} x */
export function meant(marks, x) {
  const distances = marks.map((mark) => Math.abs(mark - x));
  return distances.indexOf(Math.min(...distances));
}

/**
 * The marks that a stroke from one point to the next passes, and how high it is there. A hand that moves up or down
 * close to a mark takes that mark along.
 * @param {number[]} marks @param {Point} from @param {Point} to
 * @returns {{place: number, y: number}[]}
 */
export function passed(marks, from, to) {
  const [left, right] = from.x <= to.x ? [from, to] : [to, from];
  const met = [];
  marks.forEach((mark, place) => {
    if (left.x <= mark && mark <= right.x && left.x < right.x) {
      met.push({ place, y: left.y + ((mark - left.x) / (right.x - left.x)) * (right.y - left.y) });
    } else if (Math.abs(mark - to.x) <= NEAR) {
      met.push({ place, y: to.y });
    }
  });
  return met;
}

/** A share of the height as a value of the axis, in its steps and within its ends.
 * @param {number} y @param {{low: number, high: number, step: number}} axis */
export function valueAt(y, { low, high, step }) {
  const value = low + Math.min(1, Math.max(0, y)) * (high - low);
  const stepped = low + Math.round((value - low) / step) * step;
  return Math.min(high, Number(stepped.toFixed(9)));
}

/** Which labels fit beside each other; the last one always does. @param {{at: number, width: number}[]} labels */
export function fitting(labels, gap) {
  const kept = new Set();
  let free = Infinity;
  for (let place = labels.length - 1; place >= 0; place -= 1) {
    const { at, width } = labels[place];
    if (at + width / 2 > free) continue;
    kept.add(place);
    free = at - width / 2 - gap;
  }
  return kept;
}
