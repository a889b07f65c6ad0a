/** The component's elements, made once. What they say comes later and only as text. */

import { element, icon, iconButton } from "./dom.js";
import { SPEEDS } from "./player.js";

/**
 * @param {HTMLElement} root  the component's own element, emptied here
 * @param {import("./words.js").Words} words
 */
export function build(root, words) {
  const parts = {
    root,
    ...header(words),
    ...picture(words),
    ...time(),
    ...memory(words),
    ...odds(),
    legend: legend(words),
    ...controls(words),
    table: element("div", { class: "fb-table", hidden: true, tabindex: "0", role: "region", "aria-label": words.say("table") }),
    voice: element("div", { class: "fb-unseen", "aria-live": "polite" }),
    tip: element("div", { class: "fb-tip", hidden: true, "aria-hidden": "true" }),
  };
  const main = element("div", { class: "fb-main" }, parts.scoreBox, parts.timeBox);
  const side = element("div", { class: "fb-side" }, parts.memoryBox, parts.oddsBox, parts.legend);
  parts.body = element("div", { class: "fb-body" }, main, side);
  root.replaceChildren(parts.head, parts.note, parts.text, parts.body, parts.bar, parts.table, parts.voice, parts.tip);
  return parts;
}

function header(words) {
  const title = element("p", { class: "fb-title" });
  const sub = element("p", { class: "fb-sub" });
  const status = element("span", { class: "fb-status", hidden: true });
  const evidenceText = element("span", {});
  const evidence = element(
    "button",
    { type: "button", class: "fb-evidence", "aria-describedby": "fb-evidence-tip" },
    element("span", { class: "fb-evidence-dot", "aria-hidden": "true" }),
    evidenceText,
  );
  const evidenceTip = element("span", { class: "fb-evidence-tip", id: "fb-evidence-tip", role: "tooltip" });
  const evidenceBox = element("span", { class: "fb-evidence-box" }, evidence, evidenceTip);
  const head = element(
    "div",
    { class: "fb-head" },
    element("div", { class: "fb-titles" }, title, sub),
    element("div", { class: "fb-badges" }, status, evidenceBox),
  );
  const note = element("p", { class: "fb-note", hidden: true, role: "status" });
  const text = element("p", { class: "fb-text" });
  text.setAttribute("aria-label", words.say("text_so_far"));
  text.setAttribute("role", "note");
  return { head, title, sub, status, evidence, evidenceText, evidenceTip, evidenceBox, note, text };
}

function picture(words) {
  const score = element("canvas", { role: "img", class: "fb-score-canvas" });
  const wide = element("div", { class: "fb-wide" }, score);
  const scroller = element("div", { class: "fb-scroller", role: "group", "aria-label": words.say("columns") }, wide);
  const unfold = element("button", { type: "button", class: "fb-unfold", hidden: true }, icon("unfold"));
  return { scoreBox: element("div", { class: "fb-score" }, scroller, unfold), score, wide, scroller, unfold };
}

function time() {
  const title = element("p", { class: "fb-panel-title" });
  const canvas = element("canvas", { role: "img", class: "fb-time-canvas" });
  const firstToken = element("span", { class: "fb-first-token" });
  const between = element("span", { class: "fb-between" });
  const legend = element("p", { class: "fb-time-legend" }, firstToken, between);
  const timeBox = element("div", { class: "fb-time" }, title, canvas, legend);
  return { timeBox, timeTitle: title, timeCanvas: canvas, firstToken, between };
}

function memory(words) {
  const readout = (kind, called) => {
    const value = element("span", { class: "fb-value" });
    const detail = element("span", { class: "fb-detail" });
    const name = element("span", { class: "fb-name" }, element("span", { class: `fb-shape fb-shape-${kind}`, "aria-hidden": "true" }));
    name.append(called);
    return { value, detail, whole: element("div", { class: `fb-readout fb-readout-${kind}` }, name, value, detail) };
  };
  const kv = readout("kv", words.say("kv_cache"));
  const state = readout("state", words.say("state"));
  const canvas = element("canvas", { role: "img", class: "fb-memory-canvas" });
  const readouts = element("div", { class: "fb-readouts" }, kv.whole, state.whole);
  const title = element("p", { class: "fb-panel-title" }, words.say("memory"));
  const memoryBox = element("div", { class: "fb-memory" }, title, readouts, canvas);
  return { memoryBox, memoryCanvas: canvas, kv, state };
}

function odds() {
  const title = element("p", { class: "fb-panel-title" });
  const bars = element("div", { class: "fb-bars", role: "list" });
  const note = element("p", { class: "fb-odds-note" });
  return { oddsBox: element("div", { class: "fb-odds" }, title, bars, note), oddsTitle: title, bars, oddsNote: note };
}

function legend(words) {
  const items = ["now", "kv", "past", "state"].map((name) => {
    const shape = element("span", { class: `fb-legend-shape fb-legend-${name}`, "aria-hidden": "true" });
    return element("li", {}, shape, words.say(`legend_${name}`));
  });
  return element("div", { class: "fb-legend" }, element("ul", {}, ...items), element("p", { class: "fb-hint" }, words.say("hint")));
}

function controls(words) {
  const buttons = {};
  for (const name of ["first", "back", "play", "forward", "last"]) {
    buttons[name] = iconButton(name, words.say(name), name === "play" ? "fb-play" : "");
  }
  const scrub = element("input", { type: "range", class: "fb-scrub", min: "0", max: "0", value: "0", step: "1", "aria-label": words.say("scrub") });
  const engineMark = element("span", { class: "fb-engine-mark", hidden: true, "aria-hidden": "true" });
  const track = element("div", { class: "fb-track" }, scrub, engineMark);
  const passName = element("span", { class: "fb-pass-name" });
  const passDetail = element("span", { class: "fb-pass-detail" });
  const speed = element(
    "select",
    { class: "fb-speed", "aria-label": words.say("speed") },
    ...SPEEDS.map((name) => element("option", { value: name }, words.say(`speed_${name}`))),
  );
  const live = element("button", { type: "button", class: "fb-live", hidden: true }, words.say("back_to_live"));
  const tableButton = iconButton("table", words.say("table"), "fb-table-button");
  tableButton.setAttribute("aria-pressed", "false");
  const bar = element(
    "div",
    { class: "fb-bar" },
    element("div", { class: "fb-buttons" }, ...Object.values(buttons)),
    track,
    element("div", { class: "fb-pass" }, passName, passDetail),
    element("div", { class: "fb-options" }, live, speed, tableButton),
  );
  return { bar, buttons, scrub, engineMark, track, passName, passDetail, speed, live, tableButton };
}
