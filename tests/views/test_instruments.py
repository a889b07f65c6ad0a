"""Every instrument that is registered can be drawn, and no drawing lies about unregistered."""

from pathlib import Path

import pytest

from lessons.instruments import INSTRUMENTS, prefix_of, published_kinds
from lessons.named_shapes import SHAPE_KEYS
from views import instruments
from views.instruments import drawing_of
from views.page_state import KNOWN

FOLDER = Path(instruments.__file__).parent
NOT_INSTRUMENTS = {"__init__", "frame"}


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_a_registered_instrument_has_its_drawing(name):
    assert callable(drawing_of(name))
    assert INSTRUMENTS[name].title and INSTRUMENTS[name].purpose.endswith(".")


def test_every_drawing_is_registered():
    showing = {path.stem for path in FOLDER.glob("*.py") if "\ndef show(" in path.read_text()} - NOT_INSTRUMENTS
    assert showing == {prefix_of(name) for name in INSTRUMENTS}


def test_an_instrument_in_the_lab_needs_no_setting():
    assert [name for name, one in INSTRUMENTS.items() if one.in_lab and one.required] == []


def test_no_setting_is_called_like_a_part_of_every_link():
    assert not {setting for one in INSTRUMENTS.values() for setting in one.settings} & {*KNOWN, "instrument"}


def test_an_unknown_name_has_no_drawing_and_publishes_nothing():
    with pytest.raises(KeyError):
        drawing_of("frame")
    assert published_kinds("frame") == {}


def test_results_are_named_apart_from_everything_else():
    taken = {"asked", "run", "other", "model", "shape", "preset", "link", "machine", "check", *SHAPE_KEYS}
    assert not taken & {prefix_of(name) for name in INSTRUMENTS if INSTRUMENTS[name].publishes}
