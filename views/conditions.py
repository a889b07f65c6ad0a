"""Measured alone or measured under load: what stands by every timing of a run, and what it means."""

from __future__ import annotations

from dataclasses import dataclass

from engine.account.company import company
from engine.account.record import Run
from views.words import _, ngettext


@dataclass(frozen=True)
class Condition:
    """`label` goes by the number, `meaning` into the answer to how it was made."""

    label: str
    meaning: str


def condition_of_both(first: Run, second: Run) -> Condition | None:
    """For two runs on one picture: alone only if both were."""
    under_load = [one for one in (first, second) if (found := company(one)) and not found.alone]
    return condition(under_load[0] if under_load else first)


def condition(run: Run) -> Condition | None:
    """Whether a run had the engine to itself; None where nothing was measured."""
    found = company(run)
    if found is None or run.header.evidence == "simulated":
        return None
    if found.alone:
        return Condition(
            _("measured alone"),
            _("Measured alone: no other request of this engine was before this one or shared a pass with it."),
        )
    ahead = ngettext(
        "{n} request was before it when it arrived", "{n} requests were before it when it arrived", found.ahead
    ).format(n=found.ahead)
    shared = ngettext(
        "{shared} of its {n} pass was shared, by up to {most} requests",
        "{shared} of its {n} passes were shared, by up to {most} requests",
        found.n_passes,
    ).format(shared=found.n_shared, n=found.n_passes, most=found.most)
    meaning = _("Measured under load: {ahead}, and {shared}. Alone it would have been faster.").format(
        ahead=ahead, shared=shared
    )
    if found.held:
        meaning += " " + _("It also waited while the engine was reserved for somebody else.")
    return Condition(_("measured under load"), meaning)
