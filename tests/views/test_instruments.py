"""Every instrument that is registered can be drawn, and no drawing lies about unregistered."""

from pathlib import Path

import pytest

from lessons.instruments import INSTRUMENTS, prefix_of, published_kinds
from lessons.named_shapes import SHAPE_KEYS
from views import instruments
from views.instruments import drawing_of, frame
from views.page_state import KNOWN
from views.scene import Scene

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


class Page:
    name = "pages-and-tiles"

    def key(self, what):
        return what


def test_the_page_is_drawn_again_when_an_instrument_that_is_drawn_alone_says_something_else(monkeypatch):
    drawn, said = [], []
    monkeypatch.setattr(frame.st, "rerun", lambda: drawn.append(True))
    monkeypatch.setattr(Scene, "publish", lambda _scene, named: said.append(named))
    scene = Scene(Page(), "", None, said={})
    for running in (12, 12, 14):  # with the page, alone, alone with another choice
        frame.publish(scene, "pages", {"running": running})
        assert drawn == ([True] if running == 14 else [])
    assert said[-1] == {"pages.running": 14}
    frame.publish(Scene(Page(), "", None), "pages", {"running": 9})
    assert drawn == [True], "what is no instrument of its own never asks for it"
