"""The roofline of this machine with every pass of the run as a dot, and of others with what they could do at best."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from engine.account.presets import Hardware
from engine.account.record import Run
from engine.account.roofline import AT, best_dots, median_dot, pass_dots, share_of_roof
from lessons.expressions import Value
from lessons.named_shapes import MACHINES, here
from views.engine_words import told
from views.evidence import source_line, timing_evidence
from views.figure_roofline import roofline_figure
from views.figure_style import Drawn
from views.instruments.frame import publish, show_drawn
from views.measure_machine import offer_to_measure
from views.palette import Theme
from views.scene import Scene
from views.shape_choice import Choice, choose_shape, key_for
from views.theme import current_theme
from views.virtual_machines import THIS_MACHINE, hardware_of
from views.words import _

PROMPTS, BATCHES = (8, 500, 8_192), (1, 32)


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """This machine with the run in view, or a preset with a model to choose."""
    key = key_for(key, settings)
    names = {THIS_MACHINE: _("This machine, and the run in view"), **MACHINES}
    keys = list(names)
    machine = st.selectbox(
        _("Machine"), keys, index=keys.index(settings.get("machine", THIS_MACHINE)), format_func=names.__getitem__,
        key=f"{key}-machine",
    )  # fmt: skip
    if machine == THIS_MACHINE:
        _this_machine(scene, key)
        return
    choice = choose_shape(settings, otherwise="qwen27b", key=key)
    if choice is not None:
        drawn = preset_roofline(choice, hardware_of(machine), current_theme())
        linked = {**choice.settings, "machine": machine}
        show_drawn(drawn, name="roofline", scene=scene, settings=linked, key=f"{key}-roof")


def _this_machine(scene: Scene, key: str) -> None:
    measured = here()
    publish(scene, "roofline", results(scene.run, measured))
    if scene.run is None or not scene.run.passes:
        st.caption(_("The passes of a run appear here when there is one."))
    else:
        drawn = run_roofline(scene.run, measured, current_theme(), recorded=scene.recorded)
        show_drawn(drawn, name="roofline", scene=scene, settings={"machine": THIS_MACHINE}, key=f"{key}-roof")
        if measured is not None and (said := reached(scene.run, measured)):
            st.markdown(said)
    if measured is None:
        st.markdown(_("Its roof is not drawn yet, because nobody has measured what this machine can do."))
    offer_to_measure(key)


def reached(run: Run, machine: Hardware) -> str:
    """How near to the roof the prefill and the median decode came, in a sentence; empty without both."""
    prefill, decode = (median_dot(pass_dots(run), phase) for phase in ("prefill", "decode"))
    if prefill is None or decode is None:
        return ""
    return _(
        "The prefill reached {prefill} of what this roof allows at its intensity, the median decode {decode}."
    ).format(
        prefill=f"{share_of_roof(prefill, machine) * 100:,.0f} %",
        decode=f"{share_of_roof(decode, machine) * 100:,.0f} %",
    )


def results(run: Run | None, machine: Hardware | None) -> dict[str, Value]:
    """What prose may say of the run: of its prefill and of its median decode; None for what is not known."""
    dots = pass_dots(run) if run is not None else []
    found: dict[str, Value] = {}
    for phase in ("prefill", "decode"):
        dot = median_dot(dots, phase)
        found |= {
            f"{phase}_intensity": dot.intensity if dot else None,
            f"{phase}_rate": dot.operations_per_s if dot else None,
            f"{phase}_bandwidth": dot.bytes_per_s if dot else None,
            f"{phase}_bytes": dot.n_bytes if dot else None,
            f"{phase}_operations": dot.operations if dot else None,
            f"{phase}_share": share_of_roof(dot, machine) if dot and machine else None,
        }
    return found


def run_roofline(run: Run, machine: Hardware | None, theme: Theme, *, recorded: bool) -> Drawn:
    """Every pass of a run that it had to itself, under the roof of this machine if that is known."""
    dots = pass_dots(run)
    how = _(
        "Dots: operations and bytes are counted from the model's shape, the time is that of the pass ({source}). Roof: "
        "{roof}. A pass that was shared with other requests is left out."
    ).format(
        source=source_line(run, recorded=recorded), roof=told(machine.source) if machine else _("not measured yet")
    )
    notes = []
    if machine is not None and not machine.name.startswith(run.header.device.name):
        notes.append(_("The dots were recorded on another machine than the one whose roof is drawn."))
    if machine is not None and any(share_of_roof(dot, machine) > 1 for dot in dots):
        notes.append(_("A dot above the slope: its bytes came out of a cache, which is faster than memory."))
    if left_out := len(run.passes) - len(dots):
        notes.append(_("{n} passes that were shared with other requests are left out.").format(n=left_out))
    evidence = timing_evidence(run, recorded=recorded)
    return roofline_figure(dots, machine, theme, evidence=evidence, how=how, note=" ".join(notes))


def preset_roofline(choice: Choice, machine: Hardware, theme: Theme) -> Drawn:
    """What a model's prefills and decodes could reach at best on a machine that is not here."""
    how = _(
        "Operations and bytes are counted from the model's shape, the time is the least that the peaks allow, so every "
        "dot stands on the roof. A decode takes in one token at position {at}. {machine}: {source}, {dated}; {shares}."
    ).format(
        at=AT, machine=machine.name, source=told(machine.source), dated=machine.dated,
        shares=told(machine.shares_source),
    )  # fmt: skip
    dots = best_dots(choice.shape, machine, PROMPTS, BATCHES)
    note = _("{model}: the best that could be, with nothing lost to launches or calls.").format(model=choice.name)
    return roofline_figure(dots, machine, theme, evidence="computed", how=how, note=note)
