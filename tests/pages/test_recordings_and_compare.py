"""Recordings: own runs, files and examples are listed, opened, shared, deleted. Compare: two of them side by side."""

from __future__ import annotations

import httpx
import msgspec
import pytest

from engine.account import any_record
from engine.account.outside_record import OutsideRun
from engine.account.record import Run
from engine.account.record_file import dumps
from engine.serve.server import build
from tests.engine.outside.seen import seen_run
from tests.engine.serve.conftest import serving, until
from tests.engine.serve.scripted import ScriptedEngine
from tests.lessons.story_run import REPLY, story_run
from tests.pages.components import card_values, flipbooks
from tests.pages.conftest import checked, opened, press, words
from views import engine_calls, outside_runs, recordings_found, recordings_own, visitor
from views.attempt_store import AttemptStore
from views.engine_link import EngineLink
from views.store import RunStore

RECORDINGS, COMPARE, LAB = "../pages/recordings.py", "../pages/compare.py", "../pages/lab.py"
HTML = ["<b>Once</b>", " upon"]


@pytest.fixture(autouse=True)
def link(tmp_path, monkeypatch) -> EngineLink:
    """An app whose engine has gone, with what it kept; the visitor is "mine"."""
    kept = EngineLink("http://127.0.0.1:9", store=RunStore(tmp_path / "home"))
    attempts = AttemptStore(tmp_path / "home")
    for place in (engine_calls, recordings_found, recordings_own):
        monkeypatch.setattr(place, "engine_link", lambda: kept)
    for module in ("recordings_own", "visitor", "attempts"):
        monkeypatch.setattr(f"views.{module}.attempt_store", lambda: attempts)
    for module in ("recordings", "recordings_own", "visitor", "attempts"):
        monkeypatch.setattr(f"views.{module}.browser", lambda: "mine")
    return kept


def keep(link: EngineLink, run: Run | OutsideRun, number: int, owner: str | None = "mine") -> str:
    """Put a run into the store, as the visitor's own or somebody else's."""
    run_id = f"{number:032x}"
    header = msgspec.structs.replace(run.header, run_id=run_id)
    link.store.save(run_id, any_record.dumps(type(run)([header, *run.events[1:]])))
    if owner:
        visitor.attempt_store().save_run(owner, run_id)
    return run_id


def page(path: str, **params: str):
    site = opened()
    site.switch_page(path)
    for name, value in params.items():
        site.query_params[name] = value
    return checked(site.run())


def links(site) -> list[str]:
    return [one.proto.label for one in site.get("page_link")]


def test_nothing_of_ones_own_yet_says_what_to_do():
    site = page(RECORDINGS)
    assert "no run of yours yet" in site.info[0].value and "To the Lab" in links(site)
    assert [one.value for one in site.header] == ["Your runs", "A run from a file", "From the lessons"]


def test_ones_own_runs_are_listed_newest_first_and_nobody_elses(link):
    keep(link, story_run(prompt=HTML), 1)
    keep(link, story_run(prompt=["Theirs"]), 2, owner="somebody")
    keep(link, seen_run(prompt="From afar"), 3)
    site = page(RECORDINGS)
    listed = [label for label in links(site) if label in ("From afar", "Theirs") or "Once" in label]
    assert listed[:2] == ["From afar", "\\<b\\>Once\\</b\\> upon"] and "Theirs" not in listed
    said = words(site)
    assert "10 passes · first token after 6.50 ms · 500 tokens/s · measured alone" in said
    assert "llama · first token after 100 ms · 100 tokens/s · from outside" in said


def test_a_run_is_opened_by_its_id_alone_and_only_its_owner_may_delete_it(link):
    theirs = keep(link, story_run(), 7, owner="somebody")
    site = page(RECORDINGS, run=theirs)
    assert "measured alone" in words(site) and not [one for one in site.button if "Delete" in one.label]
    (shared,) = [one.value for one in site.code if "run=" in one.value]
    assert shared.endswith(f"run={theirs}") and "Once" not in shared
    assert card_values(site)["Time to first token"] == "6.50 ms"


def test_ones_own_run_is_deleted_for_good(link):
    mine = keep(link, story_run(), 8)
    site = press(page(RECORDINGS, run=mine), "Delete this run")
    assert "has been deleted" in site.success[0].value
    assert link.store.load(mine) is None and visitor.attempt_store().runs("mine") == []
    assert "no run of yours yet" in words(site)


def test_what_cannot_be_opened_says_why():
    site = page(RECORDINGS)
    for ref, told in (
        ("a" * 32, "cannot be read now"),
        ("example.nothing", "no example of that name"),
        ("file.0123456789ab", "not open any more"),
        ("../../etc/passwd", "does not name a run"),
    ):
        site.query_params["run"] = ref
        assert told in checked(site.run()).warning[0].value


def test_a_run_from_outside_shows_what_can_be_seen_and_leaves_the_rest_blank(link):
    site = page(RECORDINGS, run=keep(link, seen_run(), 9))
    said = words(site)
    assert "cannot be seen from outside an engine" in said and ", there was <b>a</b> fox." in said
    values = card_values(site)
    assert values["Time to first token"] == "100 ms" and values["Time per output token"] == "10.0 ms"
    assert values["Tokens, in and out"] == "5 → 9"
    assert not flipbooks(site)


def test_a_file_is_opened_and_a_bad_one_says_why_in_place():
    site = page(RECORDINGS)
    site.file_uploader[0].upload("run.json", dumps(story_run(prompt=HTML)), "application/json")
    site = checked(site.run())
    assert "recorded elsewhere" in words(site) and site.query_params["run"].startswith("file.")
    site = press(site, "Forget this file")
    site.file_uploader[0].upload("bad.json", dumps(story_run())[:500], "application/json")
    site = checked(site.run())
    assert "This file cannot be shown" in site.error[0].value and "cut off" in site.error[0].value


def test_the_lab_asks_the_operators_outside_engine_and_only_where_there_is_one(link, monkeypatch, engine):
    monkeypatch.setattr(engine_calls, "engine_link", lambda: engine)
    monkeypatch.setattr(outside_runs, "engine_link", lambda: link)
    assert not [one for one in page(LAB).button_group if one.label == "Where it runs"]
    monkeypatch.setenv("TWOSPEEDS_OUTSIDE_URL", "not an address")
    assert "must begin with http" in page(LAB).warning[0].value
    with serving(build(ScriptedEngine)) as url:
        until(lambda: httpx.get(url + "/health", trust_env=False).json()["status"] == "ready")
        monkeypatch.setenv("TWOSPEEDS_OUTSIDE_URL", url)
        site = page(LAB, outside="none")
        assert "Your prompt is sent there" in words(site) and site.warning
        site.text_area[0].set_value("once upon")
        site = press(site, "Ask it")
        until(lambda: link.store.load(site.query_params["outside"]), "the end")
        said = words(checked(site.run()))
    assert "once upo0 once upo1" in said and "from outside" in said and not engine.asked


def test_comparing_needs_two_and_says_so():
    site = page(COMPARE)
    assert "Choose two runs" in site.info[0].value and "Open a file" in links(site)
    site.query_params["a"] = "f" * 32
    site = checked(site.run())
    assert site.warning and "Choose two runs" in site.info[0].value


def test_two_runs_of_ones_own_are_chosen_and_the_address_follows(link):
    first = keep(link, story_run(), 1)
    other = ["a", "b"]
    second = keep(link, story_run(reply=[*REPLY[:7], *other]), 2)
    site = page(COMPARE)
    assert len(site.selectbox[0].options) == len(set(site.selectbox[0].options)) >= 3
    site.selectbox[0].select(first)
    site.selectbox[1].select(second)
    site = checked(site.run())
    assert (site.query_params["a"], site.query_params["b"]) == (first, second)
    assert "The same for 7 tokens, then they part." in words(site)
    table = figures(site)
    assert table["New tokens"] == ("10", "9", "−1", "×\N{NO-BREAK SPACE}0.900")
    assert table["Time to first token"][2:] == ("0 ms", "×\N{NO-BREAK SPACE}1.00")


def figures(site) -> dict[str, tuple[str, ...]]:
    (frame,) = [one.value for one in site.table if "figure" in one.value.columns]
    return {row[0]: tuple(row[1:]) for row in frame.itertuples(index=False)}


def test_a_run_from_outside_beside_one_of_ours_leaves_blank_what_is_not_known(link):
    ours, theirs = keep(link, story_run(), 1), keep(link, seen_run(), 2)
    site = page(COMPARE, a=ours, b=theirs)
    table = figures(site)
    assert table["Time to first token"] == ("6.50 ms", "100 ms", "+93.5 ms", "×\N{NO-BREAK SPACE}15.4")
    assert table["Passes"] == ("10", "", "", "") and table["Inter-token latency, p50"][1] == ""
    said = words(site)
    assert "measured alone" in said and "from outside" in said
