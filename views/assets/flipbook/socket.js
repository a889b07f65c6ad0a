/**
 * The live log: a WebSocket that is told how many events are held, and that comes back by itself when it is cut, at the
 * same place, so that nothing is missing and nothing comes twice.
 */

const FIRST_RETRY_MS = 300;
const LONGEST_RETRY_MS = 5000;

/** Address of a run's log. @param {string} basePath e.g. "" or "/class" @param {string} runId */
export function logAddress(basePath, runId, from) {
  const url = new URL(`${basePath}/twospeeds/runs/${encodeURIComponent(runId)}`, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.search = `?from=${from}`;
  return url.href;
}

export class RunSocket {
  /**
   * @param {Object} options
   * @param {(from: number) => string} options.address
   * @param {() => number} options.held           events held so far
   * @param {(from: number, events: Object[]) => boolean} options.onEvents  false: events are missing in between
   * @param {() => void} options.onEnd            the log is complete
   * @param {(error: {code: string, message: string}) => void} options.onError  there is no such log; not tried again
   * @param {(isLost: boolean) => void} options.onConnection
   */
  constructor(options) {
    this.options = options;
    this.socket = null;
    this.timer = null;
    this.retryMs = FIRST_RETRY_MS;
    this.isDone = false;
    this.connections = 0;
  }

  open() {
    if (this.isDone) return;
    this.connections += 1;
    const socket = new WebSocket(this.options.address(this.options.held()));
    this.socket = socket;
    socket.onmessage = (message) => {
      if (socket === this.socket) this.take(JSON.parse(message.data));
    };
    socket.onclose = () => {
      if (socket === this.socket) this.retry();
    };
  }

  take(message) {
    this.retryMs = FIRST_RETRY_MS;
    this.options.onConnection(false);
    if (message.error) {
      this.close();
      this.options.onError(message.error);
    } else if (message.events) {
      if (!this.options.onEvents(message.from, message.events)) this.reopen();
    } else if (message.end) {
      if (message.n > this.options.held()) this.reopen();
      else this.finish();
    }
  }

  finish() {
    this.close();
    this.options.onEnd();
  }

  /** Something is missing in between: ask again from what is held. */
  reopen() {
    this.drop();
    this.retry();
  }

  retry() {
    if (this.isDone) return;
    this.options.onConnection(true);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), this.retryMs);
    this.retryMs = Math.min(LONGEST_RETRY_MS, this.retryMs * 2);
  }

  drop() {
    const socket = this.socket;
    this.socket = null;
    if (socket) {
      socket.onmessage = null;
      socket.onclose = null;
      socket.close();
    }
  }

  close() {
    this.isDone = true;
    clearTimeout(this.timer);
    this.drop();
  }
}
