"""A calculator: any model on any machine, what it holds, what a step reads, and the floors that follow."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from engine.account.presets import together
from engine.account.step_time import Bound
from engine.account.what_if import Answer, Asked, answer
from lessons.filters import decimal_bytes, significant
from views.cards import Card, show_cards
from views.figure_shared_read import shared_read_figure
from views.instruments.frame import show_drawn
from views.scene import Scene
from views.shape_choice import choose_shape, key_for
from views.theme import current_theme
from views.virtual_machines import hardware_of, machine_keys, machine_name
from views.words import N_, Words, _

REQUESTS = Words(
    {
        (8, 10): N_("8 + 10 (the story)"),
        (500, 200): N_("500 + 200 (a request)"),
        (2_000, 100): N_("2,000 + 100"),
        (8_192, 200): N_("8,192 + 200"),
        (100_000, 200): N_("100,000 + 200"),
    }
)
"""Prompt and new tokens -> the words of its button."""

MOST_TOKENS, MOST_BATCH, MOST_MACHINES = 1_000_000, 1024, 64
BITS = {"32": 32.0, "16": 16.0, "8": 8.0, "4.5": 4.5, "4.25": 4.25, "4": 4.0}


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The boxes, the answer in cards, and the figure of what a batch shares."""
    key = key_for(key, settings)
    choice = choose_shape(settings, otherwise="qwen27b", key=key)
    if choice is None:
        return
    machine, machines, bits = _choose_machine(settings, key)
    prompt_tokens, new_tokens, batch = _choose_request(settings, key)
    hardware = together(hardware_of(machine), machines)
    asked = Asked(choice.shape, hardware, BITS[bits], prompt_tokens, new_tokens, batch)
    show_cards([Card(*one) for one in cards(asked, answer(asked))])
    linked = {
        **choice.settings, "machine": machine, "machines": str(machines), "bits": bits,
        "tokens_in": str(prompt_tokens), "tokens_out": str(new_tokens), "batch": str(batch),
    }  # fmt: skip
    drawn = shared_read_figure(asked, current_theme())
    show_drawn(drawn, name="what-if", scene=scene, settings=linked, key=f"{key}-shared")


def _choose_machine(settings: Mapping[str, str], key: str) -> tuple[str, int, str]:
    """Which machine, how many of them, and how many bits a weight takes."""
    keys = machine_keys()
    wanted = settings.get("machine", "h100")
    if wanted not in keys:
        st.caption(_("This machine has not been measured yet, so another stands here."))
    with st.grid(3, min_column_width=150, gap="small", key=f"{key}-machine-grid"):
        machine = st.selectbox(
            _("Machine"), keys, index=keys.index(wanted if wanted in keys else "h100"), format_func=machine_name,
            key=f"{key}-machine",
        )  # fmt: skip
        machines = st.number_input(
            _("How many of them"), 1, MOST_MACHINES, min(MOST_MACHINES, int(settings.get("machines", 1))),
            key=f"{key}-machines",
        )  # fmt: skip
        bits = st.selectbox(
            _("Bits a weight"), list(BITS), index=list(BITS).index(settings.get("bits", "16")), key=f"{key}-bits"
        )  # fmt: skip
    return machine, int(machines), bits


def _choose_request(settings: Mapping[str, str], key: str) -> tuple[int, int, int]:
    """Prompt tokens, new tokens and how many such requests at once; buttons fill in the sources' own."""
    names = {"tokens_in": (_("Prompt tokens"), 8_192, MOST_TOKENS), "tokens_out": (_("New tokens"), 200, MOST_TOKENS)}
    names["batch"] = (_("Such requests at once"), 1, MOST_BATCH)
    for name, (_words, default, most) in names.items():
        st.session_state.setdefault(f"{key}-{name}", min(most, max(1, int(settings.get(name, default)))))

    def fill() -> None:
        if (picked := st.session_state[f"{key}-request"]) is not None:
            st.session_state[f"{key}-tokens_in"], st.session_state[f"{key}-tokens_out"] = picked

    st.pills(
        _("Requests"), list(REQUESTS), format_func=REQUESTS.__getitem__, key=f"{key}-request", on_change=fill,
        label_visibility="collapsed",
    )  # fmt: skip
    with st.grid(3, min_column_width=150, gap="small", key=f"{key}-request-grid"):
        typed = [
            int(st.number_input(words, 1, most, key=f"{key}-{name}")) for name, (words, _default, most) in names.items()
        ]
    return typed[0], typed[1], typed[2]


def cards(asked: Asked, found: Answer) -> list[tuple[str, str, str]]:
    """The sizes and the floors: label, value and small print of each card."""
    n = found.decode.batch
    fits = _("{left} of {all} are left").format(
        left=decimal_bytes(found.memory_left), all=decimal_bytes(asked.hardware.memory_bytes)
    )
    if found.memory_left < 0:
        fits = _("too much: {missing} more than the machine has").format(missing=decimal_bytes(-found.memory_left))
    limits = {"memory": _("memory is the limit"), "compute": _("arithmetic is the limit")}
    return [
        (_("Weights held"), decimal_bytes(found.weights_held), _("{n} bits a weight").format(n=f"{asked.bits:g}")),
        (_("Weights read a step"), decimal_bytes(found.weights_read), _("once, whoever shares the step")),
        (
            _("KV cache at the end"), _size(found.kv_held),
            _("{one} for each token held").format(one=decimal_bytes(found.kv_per_token)),
        ),
        (_("State"), _size(found.state_held), _("{window} of windows besides").format(window=_size(found.window_held))),
        (_("Everything held"), _size(asked.hardware.memory_bytes - found.memory_left), fits),
        (_("A decode step, at least"), _ms(found.decode.ns), limits[_regime(found.decode.bound)]),
        (
            _("Tokens a second each, at most"), significant(found.decode.tokens_per_s / n),
            _("{all} together").format(all=significant(found.decode.tokens_per_s)),
        ),
        (_("Prefill, at least"), _ms(found.prefill.ns), limits[_regime(found.prefill.bound)]),
        (
            _("Arithmetic limits a step"), _from(found.compute_batch),
            _("at this length; the machine's ridge is {ridge} operations a byte").format(
                ridge=significant(asked.hardware.ridge)
            ),
        ),
    ]  # fmt: skip


def _from(batch: int | None) -> str:
    return _("never") if batch is None else _("from {n} on").format(n=f"{batch:,}")


def _regime(bound: Bound) -> str:
    """A floor has no overhead in it."""
    return "compute" if bound == "compute" else "memory"


def _size(n_bytes: int) -> str:
    return decimal_bytes(n_bytes) if n_bytes else _("none")


def _ms(value_ns: float) -> str:
    return f"{significant(value_ns / 1e6)} ms" if value_ns < 1e9 else f"{significant(value_ns / 1e9)} s"
