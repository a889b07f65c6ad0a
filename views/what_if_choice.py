"""Boxes for the choices of a what-if: the model, the machine, the lengths of requests, any number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec
import streamlit as st

from views.shape_choice import NAMES
from views.virtual_machines import machine_keys, machine_name, shape_keys
from views.what_if_load import LENGTH_WORDS, POLICY_NAMES, POLICY_WORDS, policy_name
from views.words import _

_T = TypeVar("_T", bound=msgspec.Struct)


def asked_for(settings: Mapping[str, str], chosen: type[_T]) -> _T:
    """A struct of choices from an instrument's settings, whose form has been checked; whatever is missing is its
    default. A machine that is not known here is replaced by the default one, and the page says so.
    """
    asked = msgspec.convert(dict(settings), chosen, strict=False)
    if settings.get("machine", machine_keys()[0]) in machine_keys():
        return asked
    st.warning(_("This machine has not been measured yet (`python -m engine probe` does it), so another is shown."))
    return msgspec.convert({name: value for name, value in settings.items() if name != "machine"}, chosen, strict=False)


@dataclass(frozen=True)
class Boxes(Generic[_T]):
    """A box for each field of a struct of choices that has one, known by the field's name, at first as asked.

    What is chosen is answered by a fragment of its own, so that a change draws the answer and leaves the boxes alone:
    there are a dozen of them, and what somebody types in the next one meanwhile is not lost.
    """

    asked: _T
    key: str
    """How the keys of the boxes begin."""

    @property
    def chosen(self) -> _T:
        """What the boxes say; a field without one is as asked."""
        fields = msgspec.structs.asdict(self.asked).items()
        said = {name: st.session_state.get(self._key(name), value) for name, value in fields}
        return msgspec.convert(said, type(self.asked))

    def answered(self, draw: Callable[..., None], *given: object) -> None:
        """Draw what the boxes, which stand on the page, lead to: now, and after every change of one."""
        st.fragment(draw, key=self._answer)(*given, self)

    def whole(self, field: str, label: str, low: int, high: int) -> None:
        """A whole number."""
        asked = min(high, max(low, int(self._asked(field))))
        st.number_input(label, low, high, asked, key=self._key(field), on_change=self._again)

    def decimal(self, field: str, label: str, low: float, high: float) -> None:
        """Any number."""
        st.number_input(label, low, high, float(self._asked(field)), key=self._key(field), on_change=self._again)

    def one_of(
        self, field: str, label: str, keys: Sequence[str], word: Callable[[Any], str], explained: str | None = None
    ) -> None:
        """One of a list."""
        place = keys.index(asked) if (asked := self._asked(field)) in keys else 0
        st.selectbox(label, keys, place, format_func=word, key=self._key(field), help=explained, on_change=self._again)

    def model(self) -> None:
        """One of the shapes."""
        self.one_of("shape", _("Model"), shape_keys(), NAMES.__getitem__)

    def machine(self) -> None:
        """One of the machines; this one can be chosen when it has been measured."""
        self.one_of("machine", _("Machine"), machine_keys(), machine_name)

    def policy(self, field: str, label: str) -> None:
        """One of the policies by its name; what each of them does is told on demand."""
        told = "\n".join(f"- {POLICY_WORDS[name]}" for name in POLICY_NAMES)
        self.one_of(field, label, POLICY_NAMES, policy_name, told)

    def lengths(self) -> None:
        """One of the pairs of length distributions."""
        self.one_of("lengths", _("Lengths"), list(LENGTH_WORDS), LENGTH_WORDS.__getitem__)

    def _asked(self, field: str) -> Any:
        return getattr(self.asked, field)

    def _key(self, field: str) -> str:
        return f"{self.key}-{field}"

    @property
    def _answer(self) -> str:
        return f"{self.key}-answer"

    @property
    def _again(self) -> Callable[[], None]:
        return partial(st.rerun, self._answer)
