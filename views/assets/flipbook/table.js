/** The same run as a table: for people who do not see the picture, and for those who want the figures. */

import { element } from "./dom.js";
import { tokenIn } from "./score.js";
import { spelt } from "./tokens.js";

const COLUMNS = ["pass", "phase", "tokens_in", "tokens_out", "duration", "kv", "state"];
const MOST_TOKENS_SHOWN = 12;

export class RunTable {
  /** @param {HTMLElement} place @param {import("./words.js").Words} words @param {(token: any) => any} spell */
  constructor(place, words, spell) {
    this.words = words;
    this.spell = spell;
    this.body = element("tbody");
    this.rows = [];
    const heads = COLUMNS.map((name) => element("th", { scope: "col" }, words.say(`column_${name}`)));
    const caption = element("caption", {}, words.say("table_caption"));
    const table = element("table", {}, caption, element("thead", {}, element("tr", {}, ...heads)), this.body);
    place.replaceChildren(table);
  }

  /** Add what is new and mark the pass at the cursor. @param {import("./score.js").Score} score @param {number} step */
  update(score, step) {
    for (const pass of score.passes.slice(this.rows.length)) this.add(score, pass);
    if (this.current === this.rows[step]) return;
    this.current?.removeAttribute("aria-current");
    this.current = this.rows[step];
    this.current?.setAttribute("aria-current", "true");
  }

  add(score, pass) {
    const words = this.words;
    const cells = [
      words.say(pass.phase),
      this.tokensIn(score, pass),
      pass.emitted.map((emission) => spelt(this.spell(emission.token))).join(" "),
      words.time(pass.endNs - pass.startNs),
      words.bytes(pass.kvBytes),
      words.bytes(pass.stateBytes),
    ];
    const head = element("th", { scope: "row" }, words.count(pass.number + 1));
    const row = element("tr", {}, head, ...cells.map((text) => element("td", {}, text)));
    this.rows.push(row);
    this.body.append(row);
  }

  tokensIn(score, pass) {
    const shown = Array.from({ length: Math.min(pass.count, MOST_TOKENS_SHOWN) }, (_, i) => tokenIn(score, pass, pass.first + i));
    const text = shown.map((token) => (token ? spelt(this.spell(token)) : "")).join(" ");
    if (pass.count === 1) return text;
    const more = pass.count > shown.length ? " …" : "";
    return `${this.words.say("tokens", { n: pass.count })}: ${text}${more}`;
  }
}
