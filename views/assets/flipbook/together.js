/**
 * Flipbooks of one page that share a clock: whoever is played, paused, moved or slowed takes the others along, each to
 * the same moment since its own request came.
 *
 * @typedef {import("./instance.js").Flipbook} Flipbook
 */

/** @type {Map<string, Set<Flipbook>>} the name of a clock -> its flipbooks */
const clocks = new Map();

/** @param {Flipbook} book @param {string|null|undefined} name */
export function join(book, name) {
  if (book.clock === name) return;
  leave(book);
  if (!name) return;
  book.clock = name;
  if (!clocks.has(name)) clocks.set(name, new Set());
  clocks.get(name).add(book);
}

/** @param {Flipbook} book */
export function leave(book) {
  clocks.get(book.clock)?.delete(book);
  book.clock = undefined;
}

/** @param {Flipbook} leader the one that a person has moved */
export function takeAlong(leader) {
  for (const book of clocks.get(leader.clock) ?? []) {
    if (book !== leader) book.goAlong(leader.player);
  }
}
