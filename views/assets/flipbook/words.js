/**
 * Words and numbers for people. All words come from Python (views/flipbook_words.py); this only fills them in.
 *
 * A word is a string with {places}, or a set of plural forms ({one: "...", other: "..."}) chosen by `n`.
 */

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export class Words {
  /** @param {Record<string, any>} labels */
  constructor(labels) {
    this.labels = labels;
    this.plural = new Intl.PluralRules(labels.lang);
    this.numbers = new Map();
  }

  /** A word with its places filled. @param {string} name @param {Record<string, string|number>} [values] */
  say(name, values = {}) {
    return this.parts(name, values)
      .map((part) => part.text)
      .join("");
  }

  /**
   * The same in pieces, so that a place can be drawn in its own colour.
   * @returns {{text: string, place: string|null}[]}
   */
  parts(name, values = {}) {
    const pieces = this.form(name, values.n).split(/\{(\w+)\}/);
    return pieces
      .map((text, i) => (i % 2 ? { text: this.value(values[text]), place: text } : { text, place: null }))
      .filter((part) => part.text !== "");
  }

  form(name, n) {
    const word = this.labels[name];
    if (typeof word === "string") return word;
    return word[this.plural.select(n)] ?? word.other;
  }

  /** Why a run failed or is not there: by its code if the page's language has words for it, else the engine's own. */
  fault({ code, message }) {
    return this.labels[`fault_${code}`] ? this.say(`fault_${code}`, { message }) : message;
  }

  value(value) {
    return typeof value === "number" ? this.count(value) : (value ?? "");
  }

  number(value, digits) {
    if (!this.numbers.has(digits)) {
      this.numbers.set(digits, new Intl.NumberFormat(this.labels.lang, { maximumFractionDigits: digits }));
    }
    return this.numbers.get(digits).format(value);
  }

  /** @param {number} n */
  count(n) {
    return this.number(n, 0);
  }

  /** Powers of two, three figures at most; nothing for a value that is not known. @param {number|null} bytes */
  bytes(bytes) {
    if (bytes === null || bytes === undefined) return "";
    let unit = 0;
    let value = bytes;
    while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
      value /= 1024;
      unit += 1;
    }
    return `${this.number(value, value < 10 ? 2 : value < 100 ? 1 : 0)} ${BYTE_UNITS[unit]}`;
  }

  /** Nanoseconds as ms, or s from ten seconds on. @param {number|null} ns */
  time(ns) {
    if (ns === null || ns === undefined) return "";
    const ms = ns / 1e6;
    if (ms >= 10_000) return `${this.number(ms / 1000, 1)} s`;
    return `${this.ms(ns)} ms`;
  }

  /** A moment of the wall clock where the viewer is. @param {string} instant ISO 8601 */
  clock(instant) {
    return new Intl.DateTimeFormat(this.labels.lang, { timeStyle: "medium", hourCycle: "h23" }).format(new Date(instant));
  }

  /** The figure alone, in ms. @param {number} ns */
  ms(ns) {
    const ms = ns / 1e6;
    return this.number(ms, ms < 10 ? 2 : ms < 100 ? 1 : 0);
  }

  /** @param {number} share in [0, 1] */
  percent(share) {
    const value = share * 100;
    if (value > 0 && value < 0.1) return `<${this.number(0.1, 1)} %`;
    return `${this.number(value, value < 10 ? 1 : 0)} %`;
  }
}
