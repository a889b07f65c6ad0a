"""Which two runs are compared: two boxes, kept in step with the address."""

from __future__ import annotations

import streamlit as st

from views.recordings_found import Chosen, example_refs, file_refs, find
from views.recordings_own import own_rows
from views.recordings_rows import Row, row_of
from views.safe_text import plain
from views.words import _


def choose() -> tuple[Chosen | None, Chosen | None]:
    """The two runs; None for one that is not chosen yet, or that is not there any more."""
    labels = _labels([*own_rows(), *_rows([*file_refs(), *example_refs()]), *_linked()])
    left, right = st.columns(2)
    with left:
        first = _box("a", _("First run"), labels)
    with right:
        second = _box("b", _("Second run"), labels)
    return first, second


def _linked() -> list[Row]:
    """The runs that the address names, which may be somebody else's; one that is not there is said to be missing."""
    rows = []
    for side in ("a", "b"):
        if ref := st.query_params.get(side):
            found = find(ref)
            if isinstance(found, Chosen):
                rows.append(row_of(found))
            else:
                st.warning(plain(found))
    return rows


def _rows(refs: list[str]) -> list[Row]:
    return [row_of(found) for ref in refs if isinstance(found := find(ref), Chosen)]


def _labels(rows: list[Row]) -> dict[str, str]:
    """Run -> what its box says; two that would read the same are numbered."""
    labels: dict[str, str] = {}
    for row in rows:
        if row.ref not in labels:
            label = f"{row.begins} · {row.facts}"
            again = sum(other == label or other.startswith(f"{label} (") for other in labels.values())
            labels[row.ref] = f"{label} ({again + 1})" if again else label
    return labels


def _box(side: str, label: str, labels: dict[str, str]) -> Chosen | None:
    key, seen = f"compare-{side}", f"compare-{side}-linked"
    linked = st.query_params.get(side)
    if linked in labels and st.session_state.get(seen) != linked:
        st.session_state[key] = linked
    if st.session_state.get(key) not in labels:
        st.session_state[key] = None
    ref = st.selectbox(
        label, list(labels), index=None, key=key, persist_state="session", format_func=labels.__getitem__,
        placeholder=_("Choose a run"),
    )  # fmt: skip
    st.session_state[seen] = ref
    if ref is None:
        st.query_params.pop(side, None)
        return None
    st.query_params[side] = ref
    found = find(ref)
    return found if isinstance(found, Chosen) else None
