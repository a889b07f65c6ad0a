"""What the service did, for Prometheus, under the names that serving engines share (prefix `twospeeds_`).

Latencies and token counts come from the records of runs that have ended; what runs and waits is read at each scrape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from engine.account.metrics import timings
from engine.account.record import End, Run

_LATENCY_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds in seconds: from a decode step of a small model to a prompt that waited in a long queue."""

_GAP_S = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.25, 0.5, 1.0, 2.5)


class ServiceMetrics:
    """Its own collector registry, so that two servers in one process do not mix."""

    def __init__(self, running_and_waiting: Callable[[], tuple[int, int]]) -> None:
        self._registry = CollectorRegistry()
        self._live = running_and_waiting
        self._running = self._gauge("num_requests_running", "Requests being computed now.")
        self._waiting = self._gauge("num_requests_waiting", "Requests waiting in the queue now.")
        self._queue = self._histogram(
            "request_queue_time_seconds", "Arrival to the start of the first pass.", _LATENCY_S
        )
        self._prefill = self._histogram(
            "request_prefill_time_seconds", "Start of the first pass to the first token.", _LATENCY_S
        )
        self._ttft = self._histogram("time_to_first_token_seconds", "Arrival to the first token.", _LATENCY_S)
        self._itl = self._histogram("inter_token_latency_seconds", "From one output token to the next.", _GAP_S)
        self._tpot = self._histogram(
            "request_time_per_output_token_seconds", "Mean gap after the first token, a request.", _GAP_S
        )
        self._e2e = self._histogram("e2e_request_latency_seconds", "Arrival to the last token.", _LATENCY_S)
        self._prompt_tokens = self._counter("prompt_tokens", "Prompt tokens of the runs that ended.")
        self._generated = self._counter("generation_tokens", "Tokens emitted by the runs that ended.")
        self._requests = self._counter("requests", "Runs that ended, by how.", ("model_name", "finished_reason"))

    def observe(self, run: Run) -> None:
        """Take in a run that has ended, well or not."""
        name = run.header.model.name
        reason = run.end.reason if isinstance(run.end, End) else "error"
        self._requests.labels(name, reason).inc()
        self._generated.labels(name).inc(len(run.emissions))
        if run.passes:
            self._prompt_tokens.labels(name).inc(len(run.header.prompt_tokens))
        told = timings(run)
        self._durations(
            name, (self._queue, told.queue_ns), (self._prefill, told.prefill_ns), (self._ttft, told.ttft_ns)
        )
        self._durations(
            name, (self._tpot, told.tpot_ns), (self._e2e, told.e2e_ns), *((self._itl, gap) for gap in told.itl_ns)
        )

    def page(self) -> bytes:
        """The scrape, in Prometheus' text format."""
        running, waiting = self._live()
        self._running.set(running)
        self._waiting.set(waiting)
        return generate_latest(self._registry)

    @staticmethod
    def _durations(model_name: str, *observed: tuple[Histogram, float | None]) -> None:
        for histogram, nanoseconds in observed:
            if nanoseconds is not None:
                histogram.labels(model_name).observe(nanoseconds / 1e9)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, namespace="twospeeds", registry=self._registry)

    def _counter(self, name: str, text: str, labels: Sequence[str] = ("model_name",)) -> Counter:
        return Counter(name, text, labels, namespace="twospeeds", registry=self._registry)

    def _histogram(self, name: str, text: str, bounds: Sequence[float]) -> Histogram:
        return Histogram(name, text, ("model_name",), namespace="twospeeds", registry=self._registry, buckets=bounds)
