"""Hand-made runs with round numbers, for tests that need no engine."""

from __future__ import annotations

from engine.account.record import (
    Candidate,
    Device,
    Emission,
    End,
    Event,
    Header,
    ModelShape,
    Pass,
    Queued,
    Run,
    Sampling,
    Token,
)

TINY = ModelShape(
    name="tiny",
    architecture="Qwen3_5ForCausalLM",
    layer_types=["linear_attention", "full_attention"],
    hidden_size=8,
    intermediate_size=16,
    vocab_size=300,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=4,
    linear_num_key_heads=1,
    linear_num_value_heads=2,
    linear_key_head_dim=4,
    linear_value_head_dim=4,
    linear_conv_kernel_dim=4,
    attn_output_gate=True,
    tie_word_embeddings=True,
    context_length=64,
    parameters=0,
    weight_dtype="bfloat16",
    kv_dtype="bfloat16",
    state_dtype="float32",
    activation_dtype="float32",
    weight_bytes=20_000,
)
DEVICE = Device(kind="cpu", name="test", threads=1, torch_version="none", kernels={})


def token(token_id: int) -> Token:
    return Token.of(token_id, bytes([token_id % 256]))


def header(prompt: str = "hello") -> Header:
    ids = list(prompt.encode())
    return Header(
        index=0,
        run_id="0" * 32,
        created="2026-01-01T00:00:00.000+00:00",
        evidence="measured",
        model=TINY,
        device=DEVICE,
        prompt=prompt,
        prompt_tokens=[token(i) for i in ids],
        sampling=Sampling(),
        engine_version="test",
    )


def emission(token_id: int, position: int) -> Emission:
    return Emission(token(token_id), position, [Candidate(token(token_id), 0.5, 1.0, 1.0)], 0)


def one_pass(index: int, number: int, start_ns: int, end_ns: int, *, n_in: int = 1, emits: bool = True) -> Pass:
    position = 0 if number == 0 else 4 + number
    return Pass(
        index=index,
        number=number,
        phase="prefill" if n_in > 1 else "decode",
        token_ids=list(range(n_in)),
        start_position=position,
        shared_by=1,
        start_ns=start_ns,
        end_ns=end_ns,
        weight_bytes_read=None,
        kv_bytes_read=None,
        kv_bytes_written=None,
        state_bytes_read=None,
        state_bytes_written=None,
        operations=None,
        positions_held=position + n_in,
        kv_bytes_held=0,
        state_bytes_held=0,
        window_bytes_held=0,
        emitted=[emission(65 + number, position + n_in)] if emits else [],
    )


def run_of(spans_ns: list[tuple[int, int]], prompt: str = "hello", *, ended: bool = True) -> Run:
    """A run whose passes start and end at these instants: a prefill of the prompt, then decodes."""
    events: list[Event] = [header(prompt), Queued(1, 0, 0)]
    for number, (start_ns, end_ns) in enumerate(spans_ns):
        n_in = len(prompt) if number == 0 else 1
        events.append(one_pass(len(events), number, start_ns, end_ns, n_in=n_in))
    if ended:
        events.append(End(len(events), "length", spans_ns[-1][1] if spans_ns else 0))
    return Run(events)
