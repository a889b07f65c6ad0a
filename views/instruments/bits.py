"""Weights in 16, 8 and 4 bits: bytes by the formula, odds, texts and speed as measured, and a look at real weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import streamlit as st

from engine.account.record import WeightFormat
from engine.account.weight_group import ROW_TENSOR, Floats, read_row
from engine.loop.variant import QuantizedFormat
from lessons import fewer_bits
from lessons.expressions import Value
from lessons.fewer_bits import FewerBits, Format, ModelMeasured
from views.evidence import evidence_row
from views.figure_bits import bytes_figure, group_figure
from views.figure_style import show as show_figure
from views.instruments.frame import publish, show_drawn
from views.measuring import STORY
from views.numbers_table import numbers_table
from views.safe_text import code_span, plain
from views.scene import Scene
from views.shape_choice import choose_shape, key_for
from views.theme import current_theme
from views.three_formats import BITS, offer_own_prompt
from views.virtual_machines import hardware_of, machine_keys, machine_name
from views.words import _

CHECKPOINT = Path(__file__).resolve().parents[2] / "models" / "story" / "model.safetensors"
ROWS = 704
"""Rows of the matrix that is looked at."""
NO_BREAK = "\u00a0"


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """Bytes first, then what was measured, then the weights themselves."""
    key = key_for(key, settings)
    publish(scene, "bits", results(fewer_bits.measured()))
    _bytes(scene, settings, key)
    _measured(key)
    offer_own_prompt(STORY, key)
    _weights(key)


def _bytes(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    choice = choose_shape(settings, otherwise="qwen4b", key=key)
    keys = machine_keys()
    wanted = settings.get("machine", "h100")
    machine = st.selectbox(
        _("Machine"), keys, index=keys.index(wanted if wanted in keys else "h100"), format_func=machine_name,
        key=f"{key}-machine",
    )  # fmt: skip
    if choice is None:
        return
    linked = {**choice.settings, "machine": machine}
    drawn = bytes_figure(choice.shape, hardware_of(machine), current_theme())
    show_drawn(drawn, name="bits", scene=scene, settings=linked, key=f"{key}-bytes")


def _measured(key: str) -> None:
    """Odds, speed and texts of the models that were measured; a plain sentence where none were."""
    st.subheader(_("What it costs, and what it brings"), anchor=False)
    found = fewer_bits.measured()
    if found is None:
        st.markdown(
            _("Not measured yet: {command} does it.").format(command="`python -m benchmarks.fewer_bits --keep`")
        )  # fmt: skip
        return
    for model in found.models:
        st.markdown(f"**{plain(model_name(model))}**")
        # A table of the page: its words wrap, where the cells of a data frame would be cut on a phone.
        st.table(gains_table(model), border="horizontal", hide_index=True)
    evidence_row("recorded", measured_how(found), key=f"{key}-measured")
    numbers_table(measured_table(found), key=f"{key}-measured")
    _texts(found, key)


def model_name(model: ModelMeasured) -> str:
    """Its name, and that its words mean nothing where that is so."""
    name = model.model.removesuffix(", random weights")
    return _("{model}, random weights").format(model=name) if model.random_weights else name


def gains_table(model: ModelMeasured) -> dict[str, list[str]]:
    """A row for each format of one model: what it gains over 16 bits and, where odds were compared, what it costs."""
    exact = model.formats[0]
    table = {
        _("weights"): [BITS[one.weights].replace(" ", NO_BREAK) for one in model.formats],
        _("decode, times as fast"): [f"{exact.decode_ns / one.decode_ns:.2f}" for one in model.formats],
        _("prefill, times as fast"): [f"{exact.prefill_ns / one.prefill_ns:.2f}" for one in model.formats],
    }
    if any(one.odds for one in model.formats):
        table[_("same favourite")] = [same_favourite(one) for one in model.formats]
        table[_("divergence (nats)")] = [divergence(one) for one in model.formats]
    return table


def same_favourite(one: Format) -> str:
    """Of how many positions the favourite is that of 16 bits; blank where odds were not compared."""
    return f"{one.odds.same_top_choice * 100:.1f} %" if one.odds else ""


def divergence(one: Format) -> str:
    """From the odds of 16 bits, in nats; blank where odds were not compared."""
    return f"{one.odds.divergence_mean:.4f}" if one.odds else ""


def measured_table(found: FewerBits) -> dict[str, list[object]]:
    """A row for each model and format; blank where nothing was measured."""
    rows = [(model, model.formats[0], one) for model in found.models for one in model.formats]
    return {
        _("model"): [model_name(model) for model, _first, _one in rows],
        _("weights"): [BITS[one.weights] for _model, _first, one in rows],
        _("decode, times as fast"): [f"{first.decode_ns / one.decode_ns:.2f}" for _model, first, one in rows],
        _("prefill, times as fast"): [f"{first.prefill_ns / one.prefill_ns:.2f}" for _model, first, one in rows],
        _("same favourite"): [same_favourite(one) for _model, _first, one in rows],
        _("divergence (nats)"): [divergence(one) for _model, _first, one in rows],
        _("bits a weight"): [f"{one.bits_a_weight:.2f}" for _model, _first, one in rows],
        _("MB read a step"): [f"{one.step_bytes / 1e6:,.1f}" for _model, _first, one in rows],
        _("decode step (ms)"): [f"{one.decode_ns / 1e6:,.2f}" for _model, _first, one in rows],
        _("decode reads (GB/s)"): [f"{rate(one) / 1e9:.1f}" for _model, _first, one in rows],
        _("prefill (ms)"): [f"{one.prefill_ns / 1e6:,.1f}" for _model, _first, one in rows],
    }  # fmt: skip


def rate(one: Format) -> float:
    """Weight bytes a second of the median decode step."""
    return one.step_bytes * 1e9 / one.decode_ns


def measured_how(found: FewerBits) -> str:
    """Machine, day, and how each column was made."""
    counts = ", ".join(
        _("{model}: {d} decode steps, {p} prefills of {n} tokens").format(
            model=model_name(one), d=one.n_decodes, p=one.n_prefills, n=one.prefill_tokens
        )
        for one in found.models
    )
    positions = next((one.odds.positions for model in found.models for one in model.formats if one.odds), None)
    odds = _(
        "Odds: at {n} positions of fixed texts, how often the favourite is that of bf16, and the divergence of the two "
        "distributions; the model with random weights has no odds worth comparing."
    ).format(n=positions)
    return f"{code_span(found.machine)}, {code_span(found.created[:10])}. {code_span(found.how)}. {counts}. {odds}"


def _texts(found: FewerBits, key: str) -> None:
    """The greedy continuations of one prompt in every format."""
    of_model = next((one for one in found.models if not one.random_weights), None)
    if of_model is None:
        return
    st.subheader(_("The text that comes out"), anchor=False)
    prompt = st.pills(
        _("Prompt"), found.prompts, default=found.prompts[0], required=True, key=f"{key}-prompt",
        label_visibility="collapsed",
    )  # fmt: skip
    at = found.prompts.index(prompt or found.prompts[0])
    exact = of_model.formats[0].texts[at]
    with st.grid(3, min_column_width=230, gap="small", key=f"{key}-texts"):
        for one in of_model.formats:
            with st.container(border=True, height="stretch", gap="xsmall"):
                st.markdown(f":small[{BITS[one.weights]}]")
                st.markdown(told_text(exact, one, at))
    evidence_row(
        "recorded", _("Greedy, {n} new tokens, no end-of-text stop.").format(n=found.new_tokens), key=f"{key}-texts"
    )


def told_text(exact: str, one: Format, at: int) -> str:
    """Markdown of a continuation: from where it leaves the one of bf16 on, it is bold."""
    text = one.texts[at]
    if one.weights == "bf16":
        return plain(text)
    same = common_beginning(exact, text)
    if same == len(exact) == len(text):
        return f"{plain(text)}\n\n:gray[:small[{_('the same, word for word')}]]"
    return f"{plain(text[:same])} **{plain(text[same:].strip())}**"


def common_beginning(one: str, other: str) -> int:
    """How many characters two texts share from the start, to the end of a word."""
    n = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return n if n == len(one) == len(other) else other.rfind(" ", 0, n + 1) + 1


def _weights(key: str) -> None:
    with st.container(horizontal=True, key=f"{key}-group-row"):
        bits = st.segmented_control(
            _("Stored in"), [8, 4], default=4, required=True, format_func=lambda n: _("{n} bits").format(n=n),
            key=f"{key}-group-bits",
        )  # fmt: skip
        row = int(st.number_input(_("Row of the matrix"), 0, ROWS - 1, 0, key=f"{key}-group-row-number", width=180))
    try:
        weights = story_row(row)
    except (OSError, ValueError, KeyError):
        st.caption(_("The story model's checkpoint cannot be read here."))
        return
    show_figure(group_figure(weights, 0, bits or 4, current_theme()), key=f"{key}-group")


def story_row(row: int) -> Floats:
    """A row of one matrix of the bundled model."""
    return read_row(CHECKPOINT, ROW_TENSOR, row)


def results(found: FewerBits | None) -> dict[str, Value]:
    """What prose may say: how many times less is read and how much faster it goes than in bf16, and what became of the
    odds; None for what was not measured. `large_` is the model with random weights.
    """
    values: dict[str, Value] = {}
    for prefix, wants_random in (("", False), ("large_", True)):
        model = next((one for one in found.models if one.random_weights is wants_random), None) if found else None
        for weights in get_args(QuantizedFormat):
            values |= _gains(f"{prefix}{weights}", model, weights)
        rates = {one.weights: rate(one) for one in model.formats} if model else {}
        values |= {f"{prefix}{weights}_rate": rates.get(weights) for weights in ("bf16", "int4")}
    return values


def _gains(name: str, model: ModelMeasured | None, weights: WeightFormat) -> dict[str, Value]:
    formats = {one.weights: one for one in model.formats} if model else {}
    exact, one = formats.get("bf16"), formats.get(weights)
    of_odds = one.odds if one else None
    gains: dict[str, Value] = dict.fromkeys(f"{name}_{what}" for what in ("bytes", "decode", "prefill"))
    if exact and one:
        gains = {
            f"{name}_bytes": exact.step_bytes / one.step_bytes,
            f"{name}_decode": exact.decode_ns / one.decode_ns,
            f"{name}_prefill": exact.prefill_ns / one.prefill_ns,
        }
    if name.startswith("large_"):
        return gains
    return {
        **gains,
        f"{name}_same": of_odds.same_top_choice if of_odds else None,
        f"{name}_nats": of_odds.divergence_mean if of_odds else None,
    }
