"""The run record: everything that a page, a table or a test may say about one request.

One request leaves one append-only log of events: `Header`, `Queued`, one `Pass` for every forward pass of the whole
model, and at last `End` or `Error`; `Admitted` and `Preempted` between them where there is something to tell, and
`Transferred` and `Continued` where several engines serve (`engine.cluster`). A live run streams these events one JSON
object a line; a saved run is the same events in one JSON document (`Run`). Whoever draws never needs to know which of
the two it was given.

Units: times are integer nanoseconds on a monotonic clock, counted from the request's arrival at the engine. Bytes and
operations are integers. A value that was not measured or cannot be known is None, never 0.

Schema `twospeeds.run/1`. A change that an older reader would misread raises the number.
"""

from __future__ import annotations

import base64
from typing import Literal

import msgspec

SCHEMA = "twospeeds.run/1"

Phase = Literal["prefill", "decode"]
LayerType = Literal["linear_attention", "full_attention"]
FinishReason = Literal["stop", "length", "cancelled"]
Evidence = Literal["measured", "simulated"]
CacheMode = Literal["kept", "recomputed"]
DraftSource = Literal["none", "prompt_lookup", "model"]
WeightFormat = Literal["bf16", "int8", "int4"]

_Bytes = bytes  # the type: inside Token, `bytes` is the field


# No object here can be part of a cycle, so the collector need not walk them (gc=False): a long log holds a great many.
class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A value inside an event."""


class Token(_Part, frozen=True):
    """One token: its id, its bytes (base64, since a token may be half a character), and a printable form."""

    id: int
    bytes: str
    text: str

    @classmethod
    def of(cls, token_id: int, raw: _Bytes) -> Token:
        """Build from the token's raw bytes; what is not valid UTF-8 on its own prints as the replacement character."""
        return cls(token_id, base64.b64encode(raw).decode("ascii"), raw.decode("utf-8", errors="replace"))

    @classmethod
    def unknown(cls) -> Token:
        """A token that nobody computed: a simulated run counts tokens, it does not choose them."""
        return cls(-1, "", "")

    @property
    def raw(self) -> _Bytes:
        """The token's bytes; joining them over tokens gives the text."""
        return base64.b64decode(self.bytes)


class Candidate(_Part, frozen=True):
    """One entry of the odds for a position, as three probabilities in [0, 1].

    `model` is the softmax of the logits as they are; `tempered` after the temperature; `sampled` after top-k and top-p
    as well, renormalised: what the draw was made from (0 for a candidate that truncation removed). With temperature 0
    the choice is the largest, and `sampled` is 1 for it.
    """

    token: Token
    model: float
    tempered: float
    sampled: float


class Emission(_Part, frozen=True):
    """One token that a pass emitted, and the odds it was chosen from.

    `candidates` holds the leading ones, likeliest first, and always the choice. `rank` is the choice's place in the
    model's own order: 0 is the likeliest. Of a token that nobody computed there are no candidates and no rank.
    """

    token: Token
    position: int
    candidates: list[Candidate]
    rank: int | None

    @property
    def odds(self) -> float | None:
        """The model's own probability of the token; None for one that nobody computed."""
        return next((one.model for one in self.candidates if one.token.id == self.token.id), None)


class ModelShape(_Part, frozen=True):
    """What the cost formulas need to know of a model; field names follow the checkpoint's config."""

    name: str
    architecture: str
    layer_types: list[LayerType]
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    linear_num_key_heads: int
    linear_num_value_heads: int
    linear_key_head_dim: int
    linear_value_head_dim: int
    linear_conv_kernel_dim: int
    attn_output_gate: bool
    tie_word_embeddings: bool
    context_length: int
    parameters: int
    weight_dtype: str
    kv_dtype: str
    state_dtype: str
    activation_dtype: str
    weight_bytes: int
    """Bytes that the weights occupy in memory as loaded."""
    head_bytes: int | None = None
    """Of these, the output head's (and the embedding's, each, if the two are not one); None: as `weight_dtype` says."""


class Device(_Part, frozen=True):
    """Where it ran and what computed it."""

    kind: str
    name: str
    threads: int
    torch_version: str
    kernels: dict[str, str]
    """Operation -> implementation that ran, e.g. {"gated_delta_rule": "cpu"}."""


class Sampling(_Part, frozen=True):
    """How tokens are chosen. temperature 0 is greedy; top_k 0 and top_p 1 switch truncation off."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    max_new_tokens: int = 10
    ignore_eos: bool = False


class Serving(_Part, frozen=True):
    """How a request is served: not what is asked for, only how it is computed.

    `cache` "recomputed" keeps nothing between passes: every step redoes the whole prefix, the baseline that caching is
    compared with. `drafts` guesses up to `n_drafts` tokens ahead for each pass to check. `reuse_prefix` lets a request
    begin from what an earlier one with the same beginning left, and leaves such a checkpoint behind. `weights` names
    the format of the model's weights, None whichever the model has: of all these, only fewer bits change the odds.
    """

    cache: CacheMode = "kept"
    drafts: DraftSource = "none"
    n_drafts: int = 4
    reuse_prefix: bool = False
    weights: WeightFormat | None = None


class _Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag_field="event"):
    """A line of the log. `index` counts the lines from 0, so that a reader can ask for what it lacks."""

    index: int


class Header(_Event, frozen=True, tag="header"):
    """First line: what was asked, of which model, on which machine."""

    run_id: str
    created: str
    """Wall-clock arrival, ISO 8601, UTC; for people only, no duration is computed from it."""
    evidence: Evidence
    model: ModelShape
    device: Device
    prompt: str
    prompt_tokens: list[Token]
    sampling: Sampling
    engine_version: str
    schema: str = SCHEMA
    serving: Serving = Serving()
    ticket: int | None = None
    """The request's number at this engine, counted from 1: its name in the batch table and the step rows."""
    engine: str | None = None
    """Of several engines the one that took it first, `pool/replica`; None where there is one."""


class Queued(_Event, frozen=True, tag="queued"):
    """The request waits: `ahead` requests are before it at `at_ns`, running ones included."""

    at_ns: int
    ahead: int
    place: int | None = None
    """Its place among those that wait, from 1."""
    expected_wait_ns: int | None = None
    """What the engine expected then, from the pace of `estimated_from` finished runs; None without a basis."""
    estimated_from: int | None = None
    reserved_until: str | None = None
    """Wall clock, ISO 8601, UTC: it is held back until then at the latest, while an instructor has the engine."""


class Admitted(_Event, frozen=True, tag="admitted"):
    """The request leaves the queue for the batch: told of one that looks for a prefix, or that was preempted before.

    `reused_positions` were not computed again, because a prefix checkpoint held them: their KV pages are shared, the
    state is a copy. 0 is a miss; None says that no prefix was looked for. What was reused is no part of prefill speed.
    """

    at_ns: int
    reused_positions: int | None = None
    reused_kv_bytes: int | None = None
    """Bytes of KV cache that are shared instead of written."""
    copied_state_bytes: int | None = None
    """Bytes of recurrent state and windows that were copied from the checkpoint."""


class Preempted(_Event, frozen=True, tag="preempted"):
    """Memory ran out and this request, the youngest, gave its own back: `positions` must go through the model again."""

    at_ns: int
    positions: int


class Transferred(_Event, frozen=True, tag="transferred"):
    """Prefill and decode run on different engines: what the prompt left behind moved from one to the other."""

    start_ns: int
    """The sender's last prefill pass has ended, and copying out begins."""
    at_ns: int
    """All of it lies in pages and a slot of the receiver's."""
    positions: int
    kv_bytes: int
    state_bytes: int
    window_bytes: int
    sender: str
    receiver: str
    fetch_ns: int | None = None
    """Of that time, what the receiver took to get the bytes out of the object store that both share."""


class Continued(_Event, frozen=True, tag="continued"):
    """The engine that computed it is lost: another went on from the tokens that had been shown by then.

    They go through the model again, in a prefill pass; none is drawn again.
    """

    at_ns: int
    tokens: int
    """New tokens that were known."""
    engine: str
    """Who goes on."""
    lost: str | None = None
    """Who is lost; None if it had not said who it is, or if only the memory was lost that it had handed over."""


class Pass(_Event, frozen=True, tag="pass"):
    """One forward pass of the whole model, seen from one request."""

    number: int
    """Counts this request's passes from 0."""
    phase: Phase
    token_ids: list[int]
    """The tokens that went in."""
    start_position: int
    """Position of the first of them; they are consecutive."""
    shared_by: int
    """How many requests took part in the step, this one included."""
    start_ns: int
    end_ns: int
    """End of the pass, sampling included: the moment at which its tokens exist."""
    weight_bytes_read: int | None
    """Once per step, whoever shared it."""
    kv_bytes_read: int | None
    kv_bytes_written: int | None
    state_bytes_read: int | None
    state_bytes_written: int | None
    operations: int | None
    positions_held: int
    kv_bytes_held: int
    state_bytes_held: int
    """Recurrent state alone; the crossover compares the KV cache with this."""
    window_bytes_held: int
    """The convolution windows, counted apart."""
    emitted: list[Emission] = []
    drafted: int = 0
    """How many of `token_ids`, the last ones, were guesses that this pass checked."""
    accepted: int = 0
    """How many of the guesses were right; the others left no trace in state or KV cache."""


class End(_Event, frozen=True, tag="end"):
    """Last line of a run that ended as it should, at its own end or when asked to stop."""

    reason: FinishReason
    at_ns: int


class Error(_Event, frozen=True, tag="error"):
    """Last line of a run that failed: what to tell the person, and a code for programs."""

    code: str
    message: str
    at_ns: int | None = None


Event = Header | Queued | Admitted | Preempted | Transferred | Continued | Pass | End | Error


class Run(msgspec.Struct, forbid_unknown_fields=True):
    """One request's whole record."""

    events: list[Event]

    @property
    def header(self) -> Header:
        """What was asked; a log always starts with it."""
        first = self.events[0]
        assert isinstance(first, Header)
        return first

    @property
    def passes(self) -> list[Pass]:
        """The forward passes in order."""
        return [event for event in self.events if isinstance(event, Pass)]

    @property
    def end(self) -> End | Error | None:
        """How it ended; None while it runs."""
        last = self.events[-1]
        return last if isinstance(last, End | Error) else None

    @property
    def emissions(self) -> list[Emission]:
        """Every emitted token in order, each from exactly one pass."""
        return [emission for event in self.passes for emission in event.emitted]

    @property
    def text(self) -> str:
        """The generated text: the tokens' bytes joined, then decoded; a token that ended the text is not part of it."""
        stopped = isinstance(self.end, End) and self.end.reason == "stop"
        written = self.emissions[:-1] if stopped else self.emissions
        return b"".join(emission.token.raw for emission in written).decode("utf-8", errors="replace")
