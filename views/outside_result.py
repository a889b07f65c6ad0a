"""A run seen from outside, drawn: its text, the figures that can be had, and its chunks on a time axis.

What only an engine's own record could tell (passes, memory, operations, odds) is not there, and is said not to be.
"""

from __future__ import annotations

import streamlit as st

from engine.account.outside_record import OutsideRun
from engine.account.outside_timings import OutsideTimings, outside_timings
from engine.account.record import Error
from lessons.filters import milliseconds, significant
from views.figure_chunks import chunks_figure
from views.figure_style import show
from views.metrics import Reading, show_readings
from views.safe_text import code_span, plain
from views.theme import current_theme
from views.words import _, ngettext


def show_outside_run(run: OutsideRun, *, key: str) -> None:
    """Everything that is known of it, finished or not."""
    if isinstance(run.end, Error):
        st.error(plain(run.end.message))
    st.markdown(f"**{_('Prompt')}**")
    st.code(run.header.prompt, language=None, wrap_lines=True)
    if run.chunks:
        st.markdown(f"**{_('What came')}**")
        st.code(run.text, language=None, wrap_lines=True)
    if run.end is None:
        n = len(run.chunks)
        st.caption(ngettext("{n} chunk so far", "{n} chunks so far", n).format(n=n))
        return
    if not run.chunks:
        return
    show_readings(outside_readings(run), "outside", _source(run), key=key)
    show(chunks_figure(run, current_theme()), key=f"{key}-chunks")
    st.caption(_("Passes, memory, bytes and odds are blank: they cannot be seen from outside an engine."))


def outside_readings(run: OutsideRun) -> list[Reading]:
    """The figures of a run from outside, in the order of a person's wait."""
    seen = outside_timings(run)
    return [
        Reading(
            "ttft", _("Time to first token"), _ms(seen.ttft_ns), reason=_("no text came"),
            how=_("From sending the request to the first chunk with text: connection, network, queue and prefill."),
        ),
        *_gaps(seen),
        Reading(
            "tpot", _("Time per output token"), _ms(seen.tpot_ns), reason=_("needs the server's token count"),
            how=_(
                "(last chunk − first chunk) ÷ (tokens − 1), the tokens as the server counted them. It comes out too "
                "short where the first chunk held several tokens."
            ),
        ),
        Reading(
            "output-rate", _("Output tokens/s"), _rate(seen.output_tokens_per_s), how=_("1 ÷ TPOT."),
            reason=_("needs the server's token count"),
        ),
        Reading(
            "tokens", _("Tokens, in and out"), _tokens(seen), reason=_("the server did not count them"),
            how=_("As the server counted them. A chat template adds tokens to the prompt."),
        ),
    ]  # fmt: skip


def _gaps(seen: OutsideTimings) -> list[Reading]:
    n = len(seen.gaps_ns)
    if seen.one_token_each:
        how = _("Every chunk was one token, so these are the inter-token latencies, the network's unevenness included.")
    else:
        how = _("A chunk may hold several tokens or a part of one, so this is no inter-token latency.")
    names = (_("Gap between chunks, p50"), seen.gap_p50_ns), (_("Gap between chunks, p95"), seen.gap_p95_ns)
    return [
        Reading(f"gap-{place}", name, _ms(gap), how=how, n=n, reason=_("needs a second chunk"))
        for place, (name, gap) in enumerate(names)
    ]


def _source(run: OutsideRun) -> str:
    return _("{model} at {server}").format(model=code_span(run.header.model), server=code_span(run.header.server))


def _tokens(seen: OutsideTimings) -> str | None:
    if seen.prompt_tokens is None or seen.new_tokens is None:
        return None
    return f"{seen.prompt_tokens} → {seen.new_tokens}"


def _ms(value_ns: float | None) -> str | None:
    return None if value_ns is None else milliseconds(value_ns)


def _rate(value: float | None) -> str | None:
    return None if value is None else significant(value)
