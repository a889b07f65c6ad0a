"""Every directive that a lesson may use is drawn somewhere, and nothing else is."""

from lessons.directives import DIRECTIVES
from views.lesson import _SHOWN, DEPTHS

DRAWN_BY_OTHERS = {"depth": "as tabs, together with its neighbours", "card": "by the question that it answers"}


def test_each_directive_has_its_drawing():
    assert set(DIRECTIVES) | {"prose"} == set(_SHOWN) | set(DRAWN_BY_OTHERS)


def test_each_depth_has_a_name_for_its_tab():
    assert set(DIRECTIVES["depth"].choices) == set(DEPTHS)
