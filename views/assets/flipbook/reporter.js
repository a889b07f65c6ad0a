/**
 * What leaves the picture: the settled step to Python, once, and a sentence for screen readers, once. Both wait until
 * nothing has moved for a moment, so that scrubbing floods neither.
 */

const REPORT_MS = 250;
const ANNOUNCE_MS = 600;
/** A report that Python has not sent back within this time will not come back as an echo. */
const ECHO_MS = 5000;

export class Reporter {
  /**
   * @param {Object} options
   * @param {() => number} options.step
   * @param {() => boolean} options.isSettled  false while it plays or follows: then nothing leaves
   * @param {(step: number) => void} options.report
   * @param {() => void} options.announce
   */
  constructor(options) {
    this.options = options;
    this.timers = [];
    /** @type {{step: number, at: number}[]} reports on their way */
    this.sent = [];
  }

  /** The cursor was moved: report and announce it when it stays. */
  moved() {
    this.cancel();
    this.timers = [setTimeout(() => this.report(), REPORT_MS), setTimeout(() => this.announce(), ANNOUNCE_MS)];
  }

  report() {
    if (!this.options.isSettled()) return;
    const step = this.options.step();
    this.sent.push({ step, at: performance.now() });
    this.options.report(step);
  }

  announce() {
    if (this.options.isSettled()) this.options.announce();
  }

  /**
   * Python's `at` after a rerun is mostly our own report coming back, perhaps late; the viewer has moved on since.
   * @param {number} at
   */
  isEcho(at) {
    const now = performance.now();
    this.sent = this.sent.filter((report) => now - report.at < ECHO_MS);
    const place = this.sent.findIndex((report) => report.step === at);
    if (place < 0) return false;
    this.sent = this.sent.slice(place);
    return true;
  }

  cancel() {
    this.timers.forEach(clearTimeout);
    this.timers = [];
  }
}
