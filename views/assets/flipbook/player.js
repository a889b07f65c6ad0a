/**
 * Where the viewer is in the run: the cursor, and what moves it.
 *
 * The cursor rests on a pass, sweeps through one that was stepped to, plays on the run's own clock (as it happened, or
 * slowed by a stated factor), or follows the engine. Time comes in through `tick`, so nothing here waits by itself.
 *
 * @typedef {"rest"|"sweep"|"play"|"follow"} Motion
 * @typedef {"real"|"slow10"|"slow100"|"even"} Speed
 */

import { isOver, momentAt, timeExtent } from "./score.js";

export const SPEEDS = /** @type {Speed[]} */ (["real", "slow10", "slow100", "even"]);
const FACTOR = { real: 1, slow10: 10, slow100: 100 };
const SWEEP_MS = { prefill: 750, decode: 380 };
const EVEN_MS = 900;
const EVEN_SWEEP_MS = 520;
const LONGEST_SHOW_MS = 20_000;
/** A pass shorter than this on screen is shown whole: its sweep could not be seen. */
const SEEN_MS = 140;
/** A tab that was hidden goes on where it was, without a leap. */
const LONGEST_FRAME_MS = 250;

export class Player {
  /**
   * @param {{score: import("./score.js").Score, isReduced: () => boolean, onRest: () => void}} options
   *   onRest: called when the cursor has come to rest after someone moved it or after playing
   */
  constructor({ score, isReduced, onRest }) {
    this.score = score;
    this.isReduced = isReduced;
    this.onRest = onRest;
    this.step = 0;
    this.progress = 1;
    /** @type {Motion} */
    this.motion = "rest";
    /** @type {Speed|null} chosen by a person; until then by `speed()` */
    this.chosen = null;
    this.playNs = 0;
    this.evenMs = 0;
    this.lastTick = null;
    /** A live run's viewer who is still on the way to where the engine is. */
    this.isCatchingUp = false;
  }

  get last() {
    return this.score.passes.length - 1;
  }

  get isMoving() {
    return this.motion === "play" || this.motion === "sweep";
  }

  get isPlaying() {
    return this.motion === "play";
  }

  /** The step whose result is on screen: its own once the pass is over, the one before while it runs; -1 for none. */
  get finished() {
    return this.progress >= 1 ? this.step : this.step - 1;
  }

  /** The chosen speed, or the slowest at which the whole run still plays in reasonable time. @returns {Speed} */
  speed() {
    if (this.isReduced()) return "even";
    if (this.chosen) return this.chosen;
    const wholeMs = timeExtent(this.score) / 1e6;
    return ["slow100", "slow10"].find((speed) => wholeMs * FACTOR[speed] <= LONGEST_SHOW_MS) ?? "real";
  }

  /** Go to a pass. With `sweep` a step forward is shown as it is computed; otherwise it is simply there. */
  go(step, { sweep = false } = {}) {
    const target = Math.min(this.last, Math.max(0, step));
    if (target < 0 || (target === this.step && this.motion === "rest")) return;
    this.isCatchingUp = false;
    const forward = target > this.step;
    this.step = target;
    this.lastTick = null;
    const moves = sweep && forward && !this.isReduced();
    this.motion = moves ? "sweep" : "rest";
    this.progress = moves ? 0 : 1;
    this.onRest();
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  play() {
    if (this.last < 0) return;
    if (this.step >= this.last && this.progress >= 1 && isOver(this.score)) this.step = 0;
    const pass = this.score.passes[this.step];
    const fromStart = this.step === 0 || this.progress < 1;
    this.playNs = fromStart ? pass.startNs : pass.endNs;
    this.evenMs = fromStart ? 0 : EVEN_MS;
    this.motion = "play";
    this.lastTick = null;
  }

  /** Play from a moment of the run's own clock, or stand on the pass that was under way then. @param {number} ns */
  joinAt(ns, isPlaying) {
    if (this.last < 0) return;
    const end = this.score.passes[this.last].endNs;
    if (isPlaying && ns < end) {
      this.play();
      this.playNs = ns;
      this.step = momentAt(this.score, this.playNs).step;
    } else {
      Object.assign(this, { motion: "rest", progress: 1, step: momentAt(this.score, ns).step });
    }
  }

  /** Where the cursor stands on the run's own clock, ns. */
  get atNs() {
    const pass = this.score.passes[this.step];
    return this.isPlaying && this.speed() !== "even" ? this.playNs : (pass?.endNs ?? 0);
  }

  pause() {
    this.motion = "rest";
    this.progress = 1;
    this.onRest();
  }

  /** The newest pass, and every newer one as it comes. */
  follow() {
    this.motion = isOver(this.score) ? "rest" : "follow";
    this.isCatchingUp = false;
    this.step = Math.max(0, this.last);
    this.progress = 1;
    this.onRest();
  }

  /** A live run's first pass has come: watch it from its start, slowly enough to see, while the engine runs ahead. */
  watch() {
    if (this.isReduced()) {
      this.motion = "follow";
      return;
    }
    this.step = 0;
    this.progress = 0;
    this.play();
    this.isCatchingUp = true;
  }

  /** More of the run has come. */
  arrived() {
    if (this.motion !== "follow") return;
    this.step = Math.max(0, this.last);
    if (!isOver(this.score)) return;
    this.motion = "rest";
    this.onRest();
  }

  /** Advance to a moment of the page's clock. @param {number} now ms */
  tick(now) {
    const elapsed = this.lastTick === null ? 0 : Math.min(LONGEST_FRAME_MS, now - this.lastTick);
    this.lastTick = now;
    if (this.motion === "sweep") this.sweepOn(elapsed);
    else if (this.motion === "play") this.playOn(elapsed);
  }

  sweepOn(elapsed) {
    this.progress = Math.min(1, this.progress + elapsed / SWEEP_MS[this.score.passes[this.step].phase]);
    if (this.progress >= 1) this.motion = "rest";
  }

  playOn(elapsed) {
    const arrived = this.speed() === "even" ? this.playEvenly(elapsed) : this.playToScale(elapsed);
    if (!arrived) return;
    this.progress = 1;
    if (!isOver(this.score)) return;
    this.motion = "rest";
    this.isCatchingUp = false;
    this.onRest();
  }

  /** On the run's own clock. @returns {boolean} whether the newest pass is over */
  playToScale(elapsed) {
    const factor = FACTOR[this.speed()];
    const end = this.score.passes[this.last].endNs;
    this.playNs = Math.min(end, this.playNs + (elapsed * 1e6) / factor);
    const { step, progress } = momentAt(this.score, this.playNs);
    const pass = this.score.passes[step];
    const seen = ((pass.endNs - pass.startNs) / 1e6) * factor >= SEEN_MS;
    this.step = step;
    this.progress = seen ? progress : 1;
    return this.playNs >= end;
  }

  /** One pass after another at one pace, whatever they took. */
  playEvenly(elapsed) {
    this.evenMs += elapsed;
    if (this.evenMs >= EVEN_MS && this.step < this.last) {
      this.step += 1;
      this.evenMs = 0;
    }
    this.progress = this.isReduced() ? 1 : Math.min(1, this.evenMs / EVEN_SWEEP_MS);
    return this.step >= this.last && this.evenMs >= EVEN_SWEEP_MS;
  }

  /** Where the play head stands on the time axis while a pass is under way; null at rest. */
  get headNs() {
    const pass = this.score.passes[this.step];
    if (!pass || this.progress >= 1) return null;
    return pass.startNs + this.progress * (pass.endNs - pass.startNs);
  }
}
