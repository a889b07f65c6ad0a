"""What the service did, for Prometheus, under the names that vLLM gave its metrics (prefix `twospeeds_`).

Counts and latencies come from the records of runs that have ended; latencies only from those that came to their own
end, as in `engine.account.service`. What runs and waits, and the memory in use, is read at each scrape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from engine.account.record import Run
from engine.account.step_record import StepRow
from engine.account.told import Told
from engine.account.work import Work
from engine.loop.room import Usage

PREFIX = "twospeeds"

_LATENCY_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds in seconds: from a decode step of a small model to a prompt that waited in a long queue."""

_GAP_S = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.25, 0.5, 1.0, 2.5)

_TOKENS = tuple(float(2**power) for power in range(17))
"""Upper bounds in tokens, 1 to 65,536."""

_REASONS = {"stop": "stop", "length": "length", "cancelled": "abort"}
"""How a run ended -> what the label says; whatever else is an error."""

Ended = tuple[str, str, Callable[[Told], float | None]]
"""Name, help and value (ns or tokens) of a histogram that takes one value a finished run."""

_DURATIONS: tuple[Ended, ...] = (
    ("request_queue_time_seconds", "Arrival to the start of the first pass.", lambda one: one.timings.queue_ns),
    ("request_prefill_time_seconds", "First pass's start to the first token.", lambda one: one.timings.prefill_ns),
    ("request_decode_time_seconds", "First token to the last.", lambda one: _span(one)),
    ("request_inference_time_seconds", "First pass's start to the last token.", lambda one: _inference(one)),
    ("time_to_first_token_seconds", "Arrival to the first token.", lambda one: one.timings.ttft_ns),
    ("e2e_request_latency_seconds", "Arrival to the last token.", lambda one: one.timings.e2e_ns),
)

_SIZES: tuple[Ended, ...] = (
    ("request_prompt_tokens", "Prompt tokens a request.", lambda one: len(one.run.header.prompt_tokens)),
    ("request_generation_tokens", "Tokens emitted, a request.", lambda one: one.work.output_tokens),
)

_COUNTS: tuple[tuple[str, str, Callable[[Work], int]], ...] = (
    ("prompt_tokens", "Prompt tokens computed; neither reused nor computed again.", lambda one: one.prompt_positions),
    ("prompt_tokens_cached", "Prompt tokens that a prefix checkpoint gave.", lambda one: one.reused_positions),
    ("generation_tokens", "Tokens emitted.", lambda one: one.output_tokens),
    ("prefix_cache_queries", "Prompt tokens of requests that looked for a prefix.", lambda one: one.sought_positions),
    ("prefix_cache_hits", "Prompt tokens found there.", lambda one: one.reused_positions),
    ("num_preemptions", "Requests that had to give their memory up.", lambda one: one.preemptions),
    ("recomputed_tokens", "Tokens computed again after a preemption.", lambda one: one.recomputed_positions),
    ("spec_decode_num_drafts", "Passes that checked a draft.", lambda one: one.draft_passes),
    ("spec_decode_num_draft_tokens", "Drafted tokens.", lambda one: one.drafted_tokens),
    ("spec_decode_num_accepted_tokens", "Drafted tokens that were right.", lambda one: one.accepted_tokens),
)


class ServiceMetrics:
    """Its own collector registry, so that two servers in one process do not mix."""

    def __init__(
        self,
        running_and_waiting: Callable[[], tuple[int, int]],
        usage: Callable[[], Usage | None] = lambda: None,
        steps_since: Callable[[int], Sequence[StepRow]] = lambda number: (),
    ) -> None:
        """Take what is asked at each scrape: how many run and wait, the memory in use (None: not known), and the step
        rows from a number on.
        """
        self._registry = CollectorRegistry()
        self._registry.register(_Now(running_and_waiting, usage))
        self._steps_since = steps_since
        self._next_step = 0
        self._durations = [(self._histogram(name, text, _LATENCY_S), of) for name, text, of in _DURATIONS]
        self._sizes = [(self._histogram(name, text, _TOKENS), of) for name, text, of in _SIZES]
        self._counts = [(self._counter(name, text), of) for name, text, of in _COUNTS]
        self._itl = self._histogram("inter_token_latency_seconds", "From one output token to the next.", _GAP_S)
        self._tpot = self._histogram(
            "request_time_per_output_token_seconds", "Mean gap after the first token, a request.", _GAP_S
        )
        self._ended = self._counter("request_success", "Runs that ended, by how.", ("model_name", "finished_reason"))
        self._step_tokens = Histogram(
            "iteration_tokens_total", "Tokens that went into a step.", namespace=PREFIX, registry=self._registry,
            buckets=_TOKENS,
        )  # fmt: skip

    def observe(self, run: Run) -> None:
        """Take in a run that has ended, well or not."""
        told = Told.of(run)
        name = run.header.model.name
        self._ended.labels(name, _REASONS.get(told.ending, "error")).inc()
        for counter, count in self._counts:
            counter.labels(name).inc(count(told.work))
        if told.finished:
            _observe(name, [(one, of(told)) for one, of in self._sizes], 1)
            _observe(name, [(one, of(told)) for one, of in self._durations], 1e9)
            _observe(
                name, [(self._tpot, told.timings.tpot_ns), *((self._itl, gap) for gap in told.timings.itl_ns)], 1e9
            )

    def take_steps(self) -> None:
        """Take in the steps since the last call; often enough that the engine still has them all."""
        for row in self._steps_since(self._next_step):
            self._step_tokens.observe(sum(share.n_tokens for share in row.shares))
            self._next_step = row.number + 1

    def page(self) -> bytes:
        """The scrape, in Prometheus' text format."""
        self.take_steps()
        return generate_latest(self._registry)

    def _counter(self, name: str, text: str, labels: Sequence[str] = ("model_name",)) -> Counter:
        return Counter(name, text, labels, namespace=PREFIX, registry=self._registry)

    def _histogram(self, name: str, text: str, bounds: Sequence[float]) -> Histogram:
        return Histogram(name, text, ("model_name",), namespace=PREFIX, registry=self._registry, buckets=bounds)


class _Now(Collector):
    """Read when asked, and left out when not known: a gauge of 0 would be a claim."""

    def __init__(self, running_and_waiting: Callable[[], tuple[int, int]], usage: Callable[[], Usage | None]) -> None:
        self._live = running_and_waiting
        self._usage = usage

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges."""
        running, waiting = self._live()
        yield _gauge("num_requests_running", "Requests being computed now.", running)
        yield _gauge("num_requests_waiting", "Requests waiting in the queue now.", waiting)
        usage = self._usage()
        if usage is not None and usage.pages_total:
            share = usage.pages_used / usage.pages_total
            yield _gauge("kv_cache_usage_perc", "KV pages in use, of all: 1 means all of them.", share)
            yield _gauge("kv_pages_used", "KV pages that sequences or checkpoints own.", usage.pages_used)
            yield _gauge("kv_pages", "KV pages that there are.", usage.pages_total)
        if usage is not None and usage.slots_total:
            yield _gauge("state_slots_used", "State slots that sequences or checkpoints own.", usage.slots_used)
            yield _gauge("state_slots", "State slots that there are.", usage.slots_total)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{PREFIX}_{name}", text, value)


def _observe(model_name: str, observed: Iterable[tuple[Histogram, float | None]], unit: float) -> None:
    for histogram, value in observed:
        if value is not None:
            histogram.labels(model_name).observe(value / unit)


def _span(one: Told) -> float | None:
    return sum(one.timings.itl_ns) if one.timings.itl_ns else None


def _inference(one: Told) -> float | None:
    times = one.timings
    return None if times.e2e_ns is None or times.queue_ns is None else times.e2e_ns - times.queue_ns
