"""What any model keeps at any length: KV cache against fixed state, layer by layer, and other ways of keeping."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from engine.account import cost
from engine.account.kv_ways import LATENT, POSITION_KEY, Kind, ways
from engine.account.record import ModelShape
from lessons.filters import binary_bytes
from views.cards import Card, show_cards
from views.evidence import evidence_row
from views.figure_kept import END, kept_figure, layers_figure
from views.figure_style import made
from views.figure_style import show as show_figure
from views.instruments.frame import show_drawn
from views.scene import Scene
from views.shape_choice import Choice, choose_shape, key_for
from views.theme import current_theme
from views.words import N_, Words, _

LENGTHS = Words(
    {
        17: N_("8 + 10 tokens (the story)"),
        699: N_("500 + 200 tokens (a request)"),
        8_192: N_("8,192 tokens"),
        100_000: N_("100,000 tokens"),
    }
)
"""Tokens held -> what leads there: the last new token is never fed back, so 8 + 10 tokens hold 17."""


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """Model and length to choose, then both figures and the table of ways."""
    key = key_for(key, settings)
    choice = choose_shape(settings, otherwise="story", key=key)
    if choice is None:
        return
    positions = _choose_length(scene, settings, choice.shape, key)
    linked = {**choice.settings, "positions": str(positions)}
    theme = current_theme()
    any_length, by_layer = kept_figure(choice.shape, positions, theme), layers_figure(choice.shape, positions, theme)
    made(any_length, by_layer)
    _cards(choice.shape, positions)
    show_drawn(any_length, name="kept", scene=scene, settings=linked, key=f"{key}-any")
    show_figure(by_layer, key=f"{key}-layers")
    _ways(choice, positions, key)


def lengths(shape: ModelShape, *others: int) -> list[int]:
    """What the slider stops at, 1 to `END` in steps of about a fifth, with every length that has a name."""
    crossover = cost.crossover_positions(shape)
    named = {*LENGTHS, *others, *([crossover] if crossover is not None and crossover <= END else [])}
    return sorted({round(2 ** (step / 4)) for step in range(18 * 4 + 1)} | named)


def _choose_length(scene: Scene, settings: Mapping[str, str], shape: ModelShape, key: str) -> int:
    """The slider, and buttons for lengths with a name; what was chosen stays when the model changes."""
    of_run = scene.run.passes[-1].positions_held if scene.run and scene.run.passes else None
    kept = f"{key}-length"
    asked = min(END, max(1, int(settings.get("positions", of_run or 17))))
    st.session_state.setdefault(kept, asked)
    stops = lengths(shape, st.session_state[kept], *([of_run] if of_run and of_run <= END else []))

    def go() -> None:
        if (picked := st.session_state[f"{key}-named"]) is not None:
            st.session_state[kept] = picked

    names = {**({of_run: _("the run in view: {n}").format(n=f"{of_run:,}")} if of_run in stops else {}), **LENGTHS}
    st.pills(
        _("Lengths with a name"), list(names), format_func=names.__getitem__, key=f"{key}-named", on_change=go,
        label_visibility="collapsed",
    )  # fmt: skip
    return int(st.select_slider(_("Tokens held"), stops, format_func=lambda n: f"{n:,}", key=kept))


def _cards(shape: ModelShape, positions: int) -> None:
    """The two sizes at this length, what their ratio is, and the windows apart."""
    cache, state = cost.kv_bytes(shape, positions), cost.recurrent_state_bytes(shape)
    sizes = [(_("KV cache"), cache), (_("State"), state), (_("Convolution windows, apart"), cost.window_bytes(shape))]
    told = [_card(label, binary_bytes(size) if size else None, _("this model keeps none")) for label, size in sizes]
    told.insert(2, _card(*compared(cache, state), _("there is only one of the two")))
    show_cards(told, most=4)


def compared(cache: int, state: int) -> tuple[str, str | None]:
    """Which of the two is larger, and how many times; no number unless there are two."""
    if not cache or not state:
        return _("Larger of the two"), None
    if cache == state:
        return _("Both are the same"), "1 ×"
    which, times = (
        (_("The cache is larger"), cache / state) if cache > state else (_("The state is larger"), state / cache)
    )
    return which, f"{times:,.1f} ×" if times < 100 else f"{times:,.0f} ×"


def _card(label: str, value: str | None, reason: str) -> Card:
    return Card(label, value, reason if value is None else "")


def _ways(choice: Choice, positions: int, key: str) -> None:
    """This model's heads under every way of keeping keys and values, in all layers and in its full ones alone."""
    st.subheader(_("The same heads, kept in other ways"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{key}-latent-row"):
        latent = int(st.number_input(_("MLA: numbers in the vector"), 1, 65_536, LATENT, key=f"{key}-latent"))
        position_key = int(
            st.number_input(_("MLA: numbers that carry the position"), 0, 65_536, POSITION_KEY, key=f"{key}-rope")
        )
    st.table(ways_table(choice.shape, positions, latent, position_key), border="horizontal", hide_index=True)
    evidence_row("computed", _(_WAYS_HOW), key=f"{key}-ways")


WAYS: Words[Kind] = Words(
    {
        "MHA": N_("MHA: a key and a value for every query head"),
        "GQA": N_("GQA: shared by groups of query heads"),
        "MQA": N_("MQA: one pair for all heads"),
        "MLA": N_("MLA: one compressed vector and a position key"),
    }
)

_WAYS_HOW = N_(
    "For each token held: layers × numbers a layer × bytes a number. MHA keeps 2 × query heads × head size numbers, "
    "GQA 2 × key-value heads × head size, MQA 2 × head size, MLA the two numbers in the boxes (DeepSeek-V2: 512 and "
    "64). "
    "Only what is kept is compared: a model with other heads is another model, and answers differently."
)


def ways_table(shape: ModelShape, positions: int, latent: int, position_key: int) -> dict[str, list[str]]:
    """Every way in every layer, then the model as it is. Sizes in words."""
    rows = [
        (WAYS[one.kind], one.layers, one.bytes_per_token, 0)
        for one in ways(shape, len(shape.layer_types), latent, position_key)
    ]
    full, state = shape.layer_types.count("full_attention"), cost.recurrent_state_bytes(shape)
    rows.append((_("as this model does it"), full, cost.kv_bytes_per_position(shape), state))
    return {
        _("way"): [row[0] for row in rows],
        _("layers that keep it"): [f"{row[1]:,}" for row in rows],
        _("a token"): [binary_bytes(row[2]) for row in rows],
        _("fixed besides"): [binary_bytes(row[3]) if row[3] else "" for row in rows],
        _("at {n} tokens").format(n=f"{positions:,}"): [binary_bytes(row[2] * positions + row[3]) for row in rows],
    }
