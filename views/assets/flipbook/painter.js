/** Puts the canvases to their size and draws what has changed on them; keeps count of how long that takes. */

import { drawMemory } from "./draw_memory.js";
import { drawScore } from "./draw_score.js";
import { TIME, drawTime } from "./draw_time.js";
import { surface } from "./frame.js";
import { layOut, segmentOf } from "./layout.js";
import { columnCount, kvBytesPerPosition } from "./score.js";

const KEPT_FRAMES = 240;
const HIDDEN_ROOM = 4;

export class Painter {
  /** @param {Object} parts from skeleton.js */
  constructor(parts) {
    this.parts = parts;
    this.stats = { frames: 0, drawMs: [], intervals: [] };
    this.lastFrame = null;
    this.layout = null;
  }

  /** @param {Object} scene from instance.js @param {number} now ms */
  paint(scene, now) {
    const started = performance.now();
    this.layout = this.layOut(scene);
    this.fitScroller(scene);
    const frame = this.frame(scene);
    frame.ctx = surface(this.parts.score, this.layout.width, this.layout.height);
    drawScore(frame);
    this.paintTime(frame, scene);
    this.paintMemory(frame, scene);
    this.count(now, performance.now() - started);
  }

  layOut(scene) {
    const { score, pass, hidden, unit } = scene;
    // Hidden, the prompt leaves some room beside it, whatever comes there.
    const columns = hidden ? score.promptCount + HIDDEN_ROOM : columnCount(score);
    const layout = layOut({
      width: Math.floor(this.parts.scoreBox.clientWidth),
      unit,
      narrow: scene.size === "narrow",
      layers: score.layers,
      promptCount: score.promptCount,
      columns,
      cursor: pass ? pass.first + pass.count - 1 : 0,
      from: pass?.drafted ? pass.first : undefined,
      unfolded: scene.unfolded,
      scroll: this.parts.scroller.scrollLeft,
    });
    if (hidden) layout.segments = layout.segments.filter((segment) => segment.from < score.promptCount);
    return layout;
  }

  /** The scroller is as wide as the columns; folded it has nothing to scroll. */
  fitScroller({ unfolded }) {
    const { layout } = this;
    const extra = unfolded ? Math.max(0, layout.contentWidth - layout.gridWidth) : 0;
    this.parts.wide.style.width = extra ? `${layout.width + extra}px` : "";
    this.parts.wide.style.height = `${layout.height}px`;
    if (extra) this.parts.scroller.setAttribute("tabindex", "0");
    else this.parts.scroller.removeAttribute("tabindex");
  }

  /** @param {Object} scene @returns {import("./frame.js").Frame} */
  frame(scene) {
    const layers = scene.score.layers.length;
    const shows = scene.stage === "passes" || scene.stage === "glimpse";
    return {
      ctx: null,
      theme: scene.theme,
      layout: this.layout,
      score: scene.score,
      pass: shows ? scene.pass : scene.stage === "reading" ? reading(scene.score) : null,
      front: shows ? scene.progress * layers : 0,
      engine: scene.engine,
      hidden: scene.hidden,
      breath: scene.breath,
      hoverColumn: scene.hoverColumn,
      words: scene.words,
      spell: scene.spell,
    };
  }

  paintTime(frame, scene) {
    const { layout } = this;
    const width = Math.floor(this.parts.timeBox.clientWidth);
    const ctx = surface(this.parts.timeCanvas, width, Math.round(TIME.height * layout.unit));
    if (scene.stage !== "passes") return;
    drawTime(
      { ...frame, ctx, layout: { ...layout, width } },
      { left: 5, right: width - 5, playNs: scene.headNs, step: scene.step },
    );
  }

  paintMemory(frame, scene) {
    const width = Math.floor(this.parts.memoryCanvas.parentElement.clientWidth);
    const height = Math.round(132 * this.layout.unit);
    const ctx = surface(this.parts.memoryCanvas, width, height);
    if (scene.stage !== "passes") return;
    const { pass, progress, score } = scene;
    const held = pass.first + Math.round((pass.held - pass.first) * progress);
    const now = { ...pass, held, kvBytes: held * (kvBytesPerPosition(score) ?? 0) };
    drawMemory({ ...frame, ctx, pass: now }, { width, height });
  }

  count(now, drawMs) {
    const { stats } = this;
    stats.frames += 1;
    stats.drawMs.push(drawMs);
    if (this.lastFrame !== null) stats.intervals.push(now - this.lastFrame);
    this.lastFrame = now;
    if (stats.drawMs.length > KEPT_FRAMES) stats.drawMs.shift();
    if (stats.intervals.length > KEPT_FRAMES) stats.intervals.shift();
  }

  /** Unfolded, bring a position into view. @param {number} position */
  scrollTo(position) {
    const { layout, parts } = this;
    if (!layout || segmentOf(layout, position + 2)) return;
    parts.scroller.scrollLeft = Math.max(0, position * layout.pitch - layout.gridWidth * 0.6);
  }
}

/** The prefill that has begun and of which nothing is recorded yet: which columns it takes is known. */
function reading(score) {
  return { number: 0, phase: "prefill", first: 0, count: score.promptCount, held: 0, emitted: [] };
}
