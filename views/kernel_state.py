"""One token in a DeltaNet state: before and after it, with what faded, what was erased and what was written."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import streamlit as st

from engine.account.kernel_records import DeltaLayer, DeltaTokens
from lessons.filters import significant
from views.chart import chart
from views.delta_arrays import Step, head_inputs, steps
from views.evidence import evidence_row
from views.figure_delta_token import matrices, matrix_figure, scale, size
from views.kernel_recordings import delta_tokens
from views.numbers_table import numbers_table
from views.safe_text import code_span, token_label
from views.theme import current_theme
from views.words import _


class Opening(NamedTuple):
    """Where the pictures open, each counted from 0."""

    layer: int
    head: int
    token: int


OPENS_AT = Opening(6, 0, 10)
"""The second "ball": its key brings up much of what the text has left under it."""


def show_state(key: str) -> None:
    """Boxes for layer, head and token, then five pictures on one scale."""
    try:
        record = delta_tokens()
    except (OSError, msgspec.DecodeError):
        st.caption(_("The recorded tokens cannot be read."))
        return
    st.markdown(
        _(
            "A DeltaNet head keeps one table of numbers, whatever the length of the text. A token lets it fade, looks "
            "up what is stored under its own key, takes that out, and writes its own value there. These are real "
            "tables, from the bundled model reading {text}."
        ).format(text=code_span("".join(token.text for token in record.tokens)))
    )
    layer, head, place = _boxes(record, key)
    taken = steps(head_inputs(record, layer, head))
    _pictures(taken[place], key)
    st.markdown(_told(taken[place], token_label(record.tokens[place].text)))
    evidence_row("recorded", _how(record, layer), key=f"{key}-state")
    numbers_table(_numbers(record, taken), key=f"{key}-state")


def _boxes(record: DeltaTokens, key: str) -> tuple[DeltaLayer, int, int]:
    """The layer, the head and the token's place."""
    layers, heads = record.layers, list(range(record.n_heads))
    labels = [f"{n + 1} · {token_label(token.text)}" for n, token in enumerate(record.tokens)]
    first = [layer.layer for layer in layers].index(OPENS_AT.layer)
    with st.grid(3, min_column_width=150):
        layer = st.selectbox(
            _("DeltaNet layer"), layers, first, format_func=lambda one: str(one.layer + 1), key=f"{key}-layer"
        )
        head = st.selectbox(_("Head"), heads, OPENS_AT.head, format_func=lambda n: str(n + 1), key=f"{key}-head")
        place = st.selectbox(
            _("Token"), range(len(labels)), OPENS_AT.token, format_func=labels.__getitem__, key=f"{key}-token"
        )
    return layer, int(head), int(place)


def _pictures(step: Step, key: str) -> None:
    largest, theme = scale(step), current_theme()
    with st.grid(5, min_column_width=150):
        for number, (title, words, matrix) in enumerate(matrices(step)):
            with st.container(gap="xsmall"):
                st.markdown(f"**{title}**")
                picture = matrix_figure(matrix, largest, theme).to_json()
                chart(picture, key=f"plot-{key}-{number}", description=f"{title}: {words}")
                st.caption(words)


def _told(step: Step, token: str) -> str:
    """The sizes in a sentence or two; nothing is compared with a state of zeros."""
    shown = code_span(token)
    if not step.before.any():
        return _("At {token} the state is empty: nothing fades, nothing is erased, and only the write is left.").format(
            token=shown
        )
    faded = size(step.before - step.faded) / size(step.before)
    return _(
        "At {token} this head lets {faded} of its state fade. What it takes out is {erased} of what it writes in, by "
        "size (the root of the sum of squares), and the two are alike to {likeness} (cosine: 1 is the same direction, "
        "0 none in common). All five pictures share one scale of colours: violet above 0, grey below, strongest from "
        "±{largest} on."
    ).format(
        token=shown,
        faded=f"{faded:.1%}",
        erased=f"{size(step.erased) / size(step.written):.0%}",
        likeness=f"{step.likeness:.2f}",
        largest=significant(scale(step), 2),
    )


def _how(record: DeltaTokens, layer: DeltaLayer) -> str:
    return _(
        "The keys, values and gates were taken from {model} while it read the text one token at a time with the "
        "engine's own kernels ({kernel}); the states follow from them by the rule, from 0 on. At the end they differed "
        "from the engine's own states by {gap} of the largest number in them. Made on {day} by {command}."
    ).format(
        model=code_span(record.model), kernel=code_span(record.kernel), gap=f"{layer.largest_gap:.2%}",
        day=record.created, command=code_span(record.command),
    )  # fmt: skip


def _numbers(record: DeltaTokens, taken: list[Step]) -> dict[str, list[object]]:
    return {
        _("token"): [token_label(token.text) for token in record.tokens],
        _("kept share e^g"): [round(step.decay, 4) for step in taken],
        _("write strength β"): [round(step.write_strength, 4) for step in taken],
        _("size before"): [round(size(step.before), 4) for step in taken],
        _("size erased"): [round(size(step.erased), 4) for step in taken],
        _("size written"): [round(size(step.written), 4) for step in taken],
        _("likeness of the two"): [None if step.likeness is None else round(step.likeness, 4) for step in taken],
        _("size after"): [round(size(step.after), 4) for step in taken],
    }
