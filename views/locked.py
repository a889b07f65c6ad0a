"""Settings that a link locks or hides in the Lab, so that a class keeps to what a teacher wants to show.

    /lab?temperature=0.7&seed=3&lock=temperature,seed&hide=top_k,top_p,serving      `lock=1` locks every setting

A locked box shows its value and takes no other; a hidden one is not drawn, and its value is the link's or the page's
own. It guides and does not guard: whoever takes it out of the address has every setting again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from views.page_state import PageState
from views.words import _

SETTINGS = ("prompt", "new", "temperature", "top_k", "top_p", "seed", "stop", "serving")


@dataclass(frozen=True)
class Locks:
    """What the address of a page locks and hides; `unknown` are names in it that are no setting."""

    locked: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()


def read_locks(lock: str, hide: str) -> Locks:
    """The two parameters, read."""
    locked, hidden = _names(lock), _names(hide) - {"prompt"}
    known = set(SETTINGS)
    return Locks(frozenset(locked & known), frozenset(hidden & known), tuple(sorted((locked | hidden) - known)))


def locks_of(page: PageState) -> Locks:
    """As the address says, or as it said before a page switch emptied it: then it is written back."""
    key = page.key("locks")
    asked = {name: st.query_params[name] for name in ("lock", "hide") if name in st.query_params}
    if asked:
        st.session_state[key] = asked
    kept: dict[str, str] = st.session_state.get(key, {})
    if kept and not asked:
        st.query_params.update(kept)
    return read_locks(kept.get("lock", ""), kept.get("hide", ""))


def say_unknown(locks: Locks) -> None:
    """Name what in the link is no setting."""
    if locks.unknown:
        names = ", ".join(f"`{name[:20]}`" for name in locks.unknown[:5] if name.isidentifier()) or "…"
        st.warning(_("The link locks or hides {names}, which is no setting here. There are: {settings}.").format(
            names=names, settings=", ".join(SETTINGS)))  # fmt: skip


def _names(text: str) -> set[str]:
    names: Iterable[str] = text.split(",")
    found = {name.strip() for name in names if name.strip()}
    return set(SETTINGS) if found == {"1"} else found
