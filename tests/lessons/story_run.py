"""A story-shaped run with real words and round times, as long as a test wants it."""

from __future__ import annotations

from engine.account import cost
from engine.account.record import (
    Candidate,
    Device,
    Emission,
    End,
    Event,
    FinishReason,
    Header,
    ModelShape,
    Pass,
    Queued,
    Run,
    Sampling,
    Token,
)

STORY = ModelShape(
    name="story", architecture="Qwen3_5ForCausalLM",
    layer_types=[*["linear_attention"] * 3, "full_attention"] * 2,
    hidden_size=256, intermediate_size=704, vocab_size=4096, num_attention_heads=4, num_key_value_heads=2, head_dim=64,
    linear_num_key_heads=4, linear_num_value_heads=4, linear_key_head_dim=64, linear_value_head_dim=64,
    linear_conv_kernel_dim=4, attn_output_gate=True, tie_word_embeddings=True, context_length=2048,
    parameters=7_900_080, weight_dtype="bfloat16", kv_dtype="bfloat16", state_dtype="float32",
    activation_dtype="bfloat16", weight_bytes=15_800_160,
)  # fmt: skip
PROMPT = ["Once", " upon", " a", " time", ",", " there", " was", " a"]
REPLY = [" little", " girl", " named", " Lily", ".", " She", " loved", " to", " play", " outside"]

QUEUE_NS, PREFILL_NS, DECODE_NS = 500_000, 6_000_000, 2_000_000


def token(text: str) -> Token:
    return Token.of(sum(text.encode()) % 4096, text.encode())


def story_run(
    prompt: list[str] = PROMPT,
    reply: list[str] = REPLY,
    *,
    reason: FinishReason | None = "length",
    run_id: str = "1" * 32,
    sampling: Sampling | None = None,
) -> Run:
    """A run of one prefill and a decode for every further token; `reason` None: it still goes on."""
    sampling = sampling or Sampling(max_new_tokens=len(reply), ignore_eos=True)
    events: list[Event] = [
        Header(
            index=0, run_id=run_id, created="2026-11-29T23:45:00.000+00:00", evidence="measured", model=STORY,
            device=Device("cpu", "Test CPU", 2, "2.13.0", {"gated_delta_rule": "cpu"}), prompt="".join(prompt),
            prompt_tokens=[token(text) for text in prompt], sampling=sampling, engine_version="test",
        ),
        Queued(1, 0, 0),
    ]  # fmt: skip
    start = QUEUE_NS
    for number, text in enumerate(reply):
        fed = len(prompt) if number == 0 else 1
        end = start + (PREFILL_NS if number == 0 else DECODE_NS)
        events.append(_pass(len(events), number, fed, 0 if number == 0 else len(prompt) + number - 1, start, end, text))
        start = end
    if reason:
        events.append(End(len(events), reason, start))
    return Run(events)


def _pass(index: int, number: int, fed: int, position: int, start: int, end: int, text: str) -> Pass:
    made = cost.Rates.of(STORY).pass_cost(position, fed, 1, cost.step_weight_bytes(STORY, fed))
    emitted = Emission(token(text), position + fed, [Candidate(token(text), 0.5, 0.5, 1.0)], 0)
    return Pass(
        index=index, number=number, phase="prefill" if number == 0 else "decode", token_ids=[1] * fed,
        start_position=position, shared_by=1, start_ns=start, end_ns=end, emitted=[emitted], **made._asdict(),
    )  # fmt: skip
