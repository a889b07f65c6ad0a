/**
 * The run as numbers: events in, facts out that know nothing of pixels or of words.
 *
 * A score grows by `extend` and is never rewritten: what a pass said stays said. Everything here comes from the record
 * (engine/account/record.py); a value that the record lacks stays null.
 *
 * @typedef {{id: number, bytes: string, text: string}} Token
 * @typedef {{token: Token, model: number, tempered: number, sampled: number}} Candidate
 * @typedef {{token: Token, position: number, candidates: Candidate[], rank: number}} Emission
 * @typedef {Object} PassView
 * @property {number} number          counted from 0
 * @property {"prefill"|"decode"} phase
 * @property {number} first           position of the first token that went in
 * @property {number} count           how many went in
 * @property {number} sharedBy        requests in the step, this one included
 * @property {number} startNs
 * @property {number} endNs
 * @property {number} held            positions held afterwards
 * @property {boolean} keeps          false for a run that keeps nothing between its passes
 * @property {number} kvBytes
 * @property {number} stateBytes
 * @property {number|null} weightBytes  read in this pass
 * @property {Emission[]} emitted
 * @property {number} drafted         how many of those that went in, the last ones, were guesses
 * @property {number} accepted        how many of the guesses were right; the others left nothing behind
 * @property {number[]} guesses       ids of the guessed tokens
 * @property {number} textEnd         bytes of generated text that exist after this pass
 *
 * @typedef {Object} Score
 * @property {number} events          events held: where a cut connection resumes
 * @property {Object|null} header
 * @property {Map<number, Token>} tokens  by position, prompt and accepted tokens
 * @property {Map<number, Token>} seen    by id, whatever the record has named so far
 * @property {number} reach           columns that any pass has taken up, with guesses
 * @property {number} promptCount
 * @property {("attention"|"delta")[]} layers
 * @property {PassView[]} passes
 * @property {{ahead: number, atNs: number, place: number|null, waitNs: number|null, estimatedFrom: number|null,
 *   reservedUntil: string|null}|null} queue  the latest word from the queue
 * @property {number|null} aheadAtArrival  requests before it when it arrived
 * @property {boolean} wasHeld        whether it waited for a reservation of the engine to end
 * @property {{reason: string, atNs: number}|null} end
 * @property {{code: string, message: string}|null} error
 * @property {number[]} written       the generated text's bytes
 */

/** @returns {Score} */
export function createScore() {
  return {
    events: 0,
    header: null,
    tokens: new Map(),
    seen: new Map(),
    reach: 0,
    promptCount: 0,
    layers: [],
    passes: [],
    queue: null,
    aheadAtArrival: null,
    wasHeld: false,
    end: null,
    error: null,
    written: [],
  };
}

/**
 * Take in a stretch of the log. What is held already is skipped, so a repeated message changes nothing.
 *
 * @param {Score} score
 * @param {number} from   index of the first event given
 * @param {Object[]} events
 * @returns {boolean} false when events are missing in between, and nothing was taken
 */
export function extend(score, from, events) {
  if (from > score.events) return false;
  for (const event of events.slice(score.events - from)) {
    take(score, event);
    score.events += 1;
  }
  return true;
}

function take(score, event) {
  if (event.event === "header") takeHeader(score, event);
  else if (event.event === "queued") takeQueued(score, event);
  else if (event.event === "pass") takePass(score, event);
  else if (event.event === "end") score.end = { reason: event.reason, atNs: event.at_ns };
  else if (event.event === "error") score.error = { code: event.code, message: event.message };
}

function takeHeader(score, header) {
  score.header = header;
  score.promptCount = header.prompt_tokens.length;
  score.layers = header.model.layer_types.map((type) => (type === "full_attention" ? "attention" : "delta"));
  header.prompt_tokens.forEach((token, position) => name(score, token, position));
}

function takeQueued(score, event) {
  score.aheadAtArrival ??= event.ahead;
  score.wasHeld ||= Boolean(event.reserved_until);
  score.queue = {
    ahead: event.ahead,
    atNs: event.at_ns,
    place: event.place ?? null,
    waitNs: event.expected_wait_ns ?? null,
    estimatedFrom: event.estimated_from ?? null,
    reservedUntil: event.reserved_until ?? null,
  };
}

/**
 * Who else was there, as far as this run's record tells; null before its first pass.
 *
 * @param {Score} score
 * @returns {{isAlone: boolean, ahead: number, most: number}|null}
 */
export function companyOf(score) {
  if (!score.passes.length) return null;
  const ahead = score.aheadAtArrival ?? 0;
  const most = Math.max(...score.passes.map((pass) => pass.sharedBy));
  return { isAlone: ahead === 0 && most === 1 && !score.wasHeld, ahead, most };
}

function name(score, token, position) {
  score.tokens.set(position, token);
  score.seen.set(token.id, token);
}

function takePass(score, event) {
  for (const emission of event.emitted ?? []) {
    name(score, emission.token, emission.position);
    for (const { token } of emission.candidates ?? []) score.seen.set(token.id, token);
    for (const byte of bytesOf(emission.token)) score.written.push(byte);
  }
  const drafted = event.drafted ?? 0;
  score.reach = Math.max(score.reach, event.start_position + event.token_ids.length);
  score.passes.push({
    number: event.number,
    phase: event.phase,
    first: event.start_position,
    count: event.token_ids.length,
    sharedBy: event.shared_by,
    startNs: event.start_ns,
    endNs: event.end_ns,
    held: event.positions_held,
    keeps: event.positions_held > 0,
    kvBytes: event.kv_bytes_held,
    stateBytes: event.state_bytes_held,
    weightBytes: event.weight_bytes_read ?? null,
    emitted: event.emitted ?? [],
    drafted,
    accepted: event.accepted ?? 0,
    guesses: drafted ? event.token_ids.slice(-drafted) : [],
    textEnd: score.written.length,
  });
}

/** @param {Token} token */
export function bytesOf(token) {
  return Uint8Array.from(atob(token.bytes), (character) => character.charCodeAt(0));
}

/** Whether anything more can come. @param {Score} score */
export function isOver(score) {
  return score.end !== null || score.error !== null;
}

/**
 * Columns of the picture: positions that have gone through the model, guesses too, and while the run goes on those that it was asked
 * for. The last sampled token is never fed back, so N new tokens make N - 1 columns.
 *
 * @param {Score} score
 */
export function columnCount(score) {
  const seen = Math.max(score.promptCount, score.reach);
  if (isOver(score) || !score.header) return seen;
  return Math.max(seen, score.promptCount + score.header.sampling.max_new_tokens - 1);
}

/** Where the time axis ends, in ns: the run's own end, or while it goes on the end that its pace so far suggests. @param {Score} score */
export function timeExtent(score) {
  const last = score.passes.at(-1);
  if (!last) return 0;
  if (isOver(score)) return last.endNs;
  const emitted = score.passes.reduce((sum, pass) => sum + pass.emitted.length, 0);
  const missing = Math.max(0, score.header.sampling.max_new_tokens - emitted) * (score.passes.length / Math.max(1, emitted));
  const pace = medianGap(score) ?? last.endNs - last.startNs;
  return last.endNs + missing * pace;
}

/**
 * Time to the first token (from the request's arrival, queue included), and the queue's part of it.
 *
 * @param {Score} score
 * @returns {{queueNs: number|null, firstTokenNs: number|null}}
 */
export function firstToken(score) {
  const speaking = score.passes.find((pass) => pass.emitted.length > 0);
  return { queueNs: score.passes[0]?.startNs ?? null, firstTokenNs: speaking?.endNs ?? null };
}

/** Median time from one emitting pass to the next, in ns; null before there are two. @param {Score} score */
export function medianGap(score) {
  const moments = score.passes.filter((pass) => pass.emitted.length > 0).map((pass) => pass.endNs);
  if (moments.length < 2) return null;
  const gaps = moments.slice(1).map((moment, i) => moment - moments[i]);
  gaps.sort((a, b) => a - b);
  const middle = gaps.length >> 1;
  return gaps.length % 2 ? gaps[middle] : (gaps[middle - 1] + gaps[middle]) / 2;
}

/** Bytes of KV cache that one position takes, over all attention layers; null before the first pass. @param {Score} score */
export function kvBytesPerPosition(score) {
  const pass = score.passes[0];
  return pass && pass.held > 0 ? pass.kvBytes / pass.held : null;
}

/** First number of positions at which the KV cache is as large as the state; null where they never meet. @param {Score} score */
export function crossover(score) {
  const each = kvBytesPerPosition(score);
  const state = score.passes[0]?.stateBytes;
  return each && state ? Math.ceil(state / each) : null;
}

/**
 * Which pass runs at a moment of the run, and how far it is.
 *
 * @param {Score} score
 * @param {number} ns  since the request's arrival
 * @returns {{step: number, progress: number}}  progress in [0, 1]
 */
export function momentAt(score, ns) {
  const passes = score.passes;
  let low = 0;
  let high = passes.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (passes[middle].startNs <= ns) low = middle;
    else high = middle - 1;
  }
  const pass = passes[low];
  if (!pass) return { step: 0, progress: 0 };
  const length = Math.max(1, pass.endNs - pass.startNs);
  return { step: low, progress: Math.min(1, Math.max(0, (ns - pass.startNs) / length)) };
}

/** The generated text after a pass, whole characters only at its end. @param {Score} score @param {number} step */
export function textAfter(score, step) {
  const end = step < 0 ? 0 : (score.passes[step]?.textEnd ?? 0);
  return new TextDecoder("utf-8").decode(Uint8Array.from(score.written.slice(0, end)), { stream: true });
}

/** The id of the end-of-text token, known only once a run has stopped at it. @param {Score} score */
export function endOfTextId(score) {
  if (score.end?.reason !== "stop") return null;
  return score.passes.at(-1)?.emitted.at(-1)?.token.id ?? null;
}

/** Whether a pass is only a part of the prompt's prefill. @param {Score} score @param {PassView} pass */
export function isChunk(score, pass) {
  return pass.phase === "prefill" && pass.count < score.promptCount;
}

/** The position after the last token of a pass that counts: guesses that were wrong lie beyond it. @param {PassView} pass */
export function standing(pass) {
  return pass.first + pass.count - (pass.drafted - pass.accepted);
}

/**
 * The token that went in at a position: the known one, or the guess. Of a guess the record has the id alone, so one that
 * it names nowhere else has no text.
 *
 * @param {Score} score @param {PassView} pass @param {number} position
 * @returns {Token|undefined}
 */
export function tokenIn(score, pass, position) {
  const id = pass.drafted ? pass.guesses[position - (pass.first + pass.count - pass.drafted)] : undefined;
  if (id === undefined) return score.tokens.get(position);
  return score.seen.get(id) ?? { id, bytes: "", text: "" };
}

/** Whether a pass kept nothing for the next one, which then begins at the first token again. @param {PassView} pass */
export function keepsNothing(pass) {
  return pass.keeps === false;
}
