/**
 * How a token is printed: nothing invisible, nothing that could act on the page.
 *
 * A leading space is set apart so that it can be drawn faintly, line breaks and control characters get a visible sign, a
 * token that is only a part of a character shows its bytes, and one without any bytes its number.
 *
 * @typedef {{lead: string, text: string, plain: boolean}} Spelling
 */

import { bytesOf } from "./score.js";

const SIGNS = new Map([
  ["\n", "↵"],
  ["\t", "⇥"],
  ["\r", "␍"],
  [" ", "·"],
  ["\u00a0", "⍽"],
]);
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u00a0]/u;

/**
 * @param {import("./score.js").Token} token
 * @param {number|null} endId  id of the end-of-text token, where known
 * @param {string} endWord     how to call it
 * @returns {Spelling}
 */
export function spell(token, endId, endWord) {
  if (token.bytes === "") return { lead: "", text: token.id === endId ? endWord : `#${token.id}`, plain: false };
  if (token.text.includes("\uFFFD") && !isText(bytesOf(token))) return { lead: "", text: hex(bytesOf(token)), plain: false };
  if (/^ +$/.test(token.text)) return { lead: "·".repeat(token.text.length), text: "", plain: true };
  const spaced = token.text.startsWith(" ");
  return { lead: spaced ? "·" : "", text: visible(spaced ? token.text.slice(1) : token.text, true), plain: true };
}

/** A spelling as one string. @param {Spelling} spelling */
export function spelt(spelling) {
  return spelling.lead + spelling.text;
}

/** Running text with its unseen characters made visible; line breaks stay breaks, after their sign. @param {string} text */
export function visible(text, oneLine = false) {
  let out = "";
  for (const character of text) {
    if (character === "\n" && !oneLine) out += "↵\n";
    else out += UNSEEN.test(character) ? sign(character) : character;
  }
  return out;
}

function sign(character) {
  const code = character.codePointAt(0);
  if (SIGNS.has(character)) return SIGNS.get(character);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  // A zero-width joiner holds emoji together and cannot reorder anything.
  return code === 0x200d ? character : `‹${code.toString(16).toUpperCase().padStart(4, "0")}›`;
}

function hex(bytes) {
  return `‹${Array.from(bytes, (byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ")}›`;
}

function isText(bytes) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
