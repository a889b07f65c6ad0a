"""The figures of two runs side by side, with their difference and their ratio. What a run does not tell is blank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.account.metrics import timings
from engine.account.outside_record import AnyRun, OutsideRun
from engine.account.outside_timings import outside_timings
from engine.account.record import Run
from lessons.filters import binary_bytes, milliseconds, significant
from views.two_runs import ratio, tokens_computed
from views.words import _

_MINUS = "−"


@dataclass(frozen=True)
class Figure:
    """One row: a value of each run, None where it is not known, and how such values are written."""

    name: str
    first: float | None
    second: float | None
    written: Callable[[float], str]

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """First, second, second less first, second over first."""
        return self._cell(self.first), self._cell(self.second), self._difference(), self._ratio()

    def _cell(self, value: float | None) -> str:
        return "" if value is None else self.written(value)

    def _difference(self) -> str:
        if self.first is None or self.second is None:
            return ""
        difference = self.second - self.first
        sign = "+" if difference > 0 else _MINUS if difference < 0 else ""
        return f"{sign}{self.written(abs(difference))}"

    def _ratio(self) -> str:
        times = ratio(self.second, self.first)
        return "" if times is None else f"×\N{NO-BREAK SPACE}{significant(times)}"


def figures_of(first: AnyRun, second: AnyRun) -> list[Figure]:
    """Every figure that at least one of the two has."""
    one, other = _values(first), _values(second)
    rows = [Figure(name, one[name], other[name], written) for name, written in _written().items()]
    return [row for row in rows if row.first is not None or row.second is not None]


def _written() -> dict[str, Callable[[float], str]]:
    """Name -> how its values are written, in the order of a person's wait."""
    return {
        _("Queue"): milliseconds,
        _("Prefill"): milliseconds,
        _("Time to first token"): milliseconds,
        _("Inter-token latency, p50"): milliseconds,
        _("Inter-token latency, p95"): milliseconds,
        _("Gap between chunks, p50"): milliseconds,
        _("Time per output token"): milliseconds,
        _("To the last token"): milliseconds,
        _("Prompt tokens/s"): significant,
        _("Output tokens/s"): significant,
        _("Prompt tokens"): _count,
        _("New tokens"): _count,
        _("Passes"): _count,
        _("Tokens computed, over all passes"): _count,
        _("KV cache at the end"): binary_bytes,
        _("Recurrent state"): binary_bytes,
        _("Weights in memory"): binary_bytes,
    }


def _values(run: AnyRun) -> dict[str, float | None]:
    known = _seen(run) if isinstance(run, OutsideRun) else _told(run)
    return {name: known.get(name) for name in _written()}


def _told(run: Run) -> dict[str, float | None]:
    told = timings(run)
    last = run.passes[-1] if run.passes else None
    return {
        _("Queue"): told.queue_ns,
        _("Prefill"): told.prefill_ns,
        _("Time to first token"): told.ttft_ns,
        _("Inter-token latency, p50"): told.itl_p50_ns,
        _("Inter-token latency, p95"): told.itl_p95_ns,
        _("Time per output token"): told.tpot_ns,
        _("To the last token"): told.e2e_ns,
        _("Prompt tokens/s"): told.prompt_tokens_per_s,
        _("Output tokens/s"): told.output_tokens_per_s,
        _("Prompt tokens"): len(run.header.prompt_tokens),
        _("New tokens"): len(run.emissions),
        _("Passes"): told.n_passes,
        _("Tokens computed, over all passes"): tokens_computed(run),
        _("KV cache at the end"): last.kv_bytes_held if last else None,
        _("Recurrent state"): last.state_bytes_held if last else None,
        _("Weights in memory"): run.header.model.weight_bytes,
    }


def _seen(run: OutsideRun) -> dict[str, float | None]:
    seen = outside_timings(run)
    # Only where every chunk was one token are its gaps what the other run calls inter-token latency.
    each = seen.one_token_each
    return {
        _("Time to first token"): seen.ttft_ns,
        _("Inter-token latency, p50"): seen.gap_p50_ns if each else None,
        _("Inter-token latency, p95"): seen.gap_p95_ns if each else None,
        _("Gap between chunks, p50"): None if each else seen.gap_p50_ns,
        _("Time per output token"): seen.tpot_ns,
        _("To the last token"): seen.e2e_ns,
        _("Output tokens/s"): seen.output_tokens_per_s,
        _("Prompt tokens"): seen.prompt_tokens,
        _("New tokens"): seen.new_tokens,
    }


def _count(value: float) -> str:
    return f"{value:,.0f}"
