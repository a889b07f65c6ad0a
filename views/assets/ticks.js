/** Where the lines of an axis stand. */

/** Round values from 0 to at most `end`, about `wanted` of them. @param {number} end @param {number} wanted */
export function ticksOf(end, wanted) {
  const rough = end / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const ticks = [];
  for (let i = 0; i * step <= end * 1.0001; i += 1) ticks.push(i * step);
  return ticks;
}
