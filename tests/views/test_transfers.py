"""A run that several engines served says so: what moved, from where to where, and who went on after a loss."""

from __future__ import annotations

from msgspec.structs import replace
from streamlit.testing.v1 import AppTest

from engine.account.record import Continued, Run, Transferred
from tests.lessons.story_run import story_run
from views.transfers import columns, sentences

MOVED = Transferred(0, 6_000_000, 9_500_000, 8, 8_192, 393_216, 55_296, "prefill/a", "decode/b", 1_000_000)


def served_by_several(*more) -> Run:
    run = story_run()
    header, *rest = run.events
    events = [replace(header, engine="prefill/a"), *more, *rest]
    return Run([replace(event, index=place) for place, event in enumerate(events)])


def page(run: Run) -> AppTest:
    def script(run):
        from views.transfers import show_transfers

        show_transfers(run, recorded=False, key="test")

    return AppTest.from_function(script, args=(run,), default_timeout=30).run()


def test_what_moved_is_a_sentence_and_a_row_with_its_label():
    run = served_by_several(MOVED)
    assert sentences(run)[1] == "`prefill/a` read the prompt and `decode/b` went on: 457 KB moved, in 3.50 ms."
    assert [column[0] for column in columns([MOVED]).values()] == [
        "prefill/a", "decode/b", 8, "8.19 KB", "393 KB", "55.3 KB", "3.50 ms", "1.00 ms",
    ]  # fmt: skip
    shown = page(run)
    assert not shown.exception
    assert len(shown.dataframe) == 1
    assert "457 KB moved" in shown.markdown[1].value


def test_a_loss_is_told_and_one_engine_alone_says_nothing():
    assert sentences(served_by_several(Continued(0, 7_000_000, 1, "engines/b", "engines/a")))[1] == (
        "An engine was lost; `engines/b` read the text again and went on after 1 new token."
    )
    assert not page(story_run()).markdown
