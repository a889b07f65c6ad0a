/** Small runs made by hand, in the schema of engine/account/record.py, for the tests beside this file. */

export const LAYERS = ["linear_attention", "linear_attention", "linear_attention", "full_attention"];
const MS = 1_000_000;

export function token(id, text) {
  return { id, bytes: Buffer.from(text, "utf-8").toString("base64"), text };
}

export function header({ prompt = ["Once", " upon", " a"], asked = 4, sampling = {} } = {}) {
  return {
    event: "header",
    index: 0,
    run_id: "a".repeat(32),
    created: "2026-01-02T03:04:05Z",
    evidence: "measured",
    model: { layer_types: LAYERS, context_length: 64, vocab_size: 100, weight_bytes: 1000 },
    device: { kind: "cpu", name: "a machine", threads: 2, torch_version: "", kernels: {} },
    prompt: prompt.join(""),
    prompt_tokens: prompt.map((text, i) => token(10 + i, text)),
    sampling: { temperature: 0, top_k: 0, top_p: 1, seed: 0, max_new_tokens: asked, ignore_eos: false, ...sampling },
    engine_version: "0",
    schema: "twospeeds.run/1",
  };
}

/** Pass `number` of a run whose prefill takes 8 ms and whose decode passes take 2 ms each, 1 ms apart, after 1 ms of waiting. */
export function pass(number, texts, { promptCount = 3, ids = null, first = null } = {}) {
  const prefill = number === 0;
  const start = prefill ? 1 : 10 + 3 * (number - 1);
  const at = first ?? (prefill ? 0 : promptCount + number - 1);
  const count = ids?.length ?? (prefill ? promptCount : 1);
  const held = at + count;
  return {
    event: "pass",
    index: number + 2,
    number,
    phase: prefill ? "prefill" : "decode",
    token_ids: ids ?? Array.from({ length: count }, (_, i) => 10 + i),
    start_position: at,
    shared_by: 1,
    start_ns: start * MS,
    end_ns: (start + (prefill ? 8 : 2)) * MS,
    weight_bytes_read: 900,
    positions_held: held,
    kv_bytes_held: held * 16,
    state_bytes_held: 100,
    window_bytes_held: 6,
    emitted: texts.map((text, i) => ({ token: token(50 + number + i, text), position: held + i, candidates: [], rank: 0 })),
    drafted: 0,
  };
}

export const queued = { event: "queued", index: 1, at_ns: 0, ahead: 0 };

/** A whole run: prompt of 3, then these texts, one a pass. */
export function wholeRun(texts = [" time", ",", " there", " was"], reason = "length") {
  const passes = texts.map((text, number) => pass(number, [text]));
  const end = { event: "end", index: passes.length + 2, reason, at_ns: passes.at(-1).end_ns };
  return [header({ asked: texts.length }), queued, ...passes, end];
}

/**
 * Prompt of 3, then a decode that checks four guesses of which two are right, then one that checks two wrong ones. The
 * guess 900 stands nowhere else in the record; the others have been in the prompt.
 */
export function draftedRun() {
  const first = { ...pass(1, [" on", " a", ","], { ids: [50, 11, 12, 10, 900] }), drafted: 4, accepted: 2, positions_held: 6 };
  first.emitted[0].token = token(11, " upon");
  first.emitted[1].token = token(12, " a");
  first.emitted.forEach((each, i) => (each.position = 4 + i));
  const second = { ...pass(2, [" sea"], { ids: [53, 10, 11], first: 6 }), drafted: 2, accepted: 0, positions_held: 7 };
  second.emitted[0].position = 7;
  return [header({ asked: 5 }), queued, pass(0, [" time"]), first, second, { event: "end", index: 5, reason: "length", at_ns: 15e6 }];
}

/** Prompt of 3 and three new tokens; every pass takes in all there is and keeps nothing. */
export function recomputedRun() {
  const passes = [" time", ",", " there"].map((text, number) => ({
    ...pass(number, [text], { ids: Array.from({ length: 3 + number }, (_, i) => 10 + i), first: 0 }),
    positions_held: 0, kv_bytes_held: 0, state_bytes_held: 0, window_bytes_held: 0,
  }));
  passes.forEach((each, number) => (each.emitted[0].position = 3 + number));
  return [header({ asked: 3 }), queued, ...passes, { event: "end", index: 5, reason: "length", at_ns: 20e6 }];
}
