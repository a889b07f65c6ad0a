"""From a typed prompt to a run: it may wait for a guess, then the engine is asked; a refusal stands under the box."""

from __future__ import annotations

import msgspec
import streamlit as st

from lessons.expressions import Value
from lessons.serving import Preset, read_preset, read_serving
from lessons.structure import Block, Lesson
from views.engine_calls import engine_notice, find_run, start_run, stop_run
from views.page_state import PageState
from views.prompt_tokens import prompt_tokens
from views.questions import committed
from views.run_form import Asked, note_unfamiliar, prompt_box
from views.run_refused import keep_refusal, show_refusal
from views.safe_text import plain
from views.scene import OTHER_DUE, Scene
from views.words import _

NOTICE_EVERY_S = 2.0
WATCH_EVERY_S = 0.5


def ask_for_run(lesson: Lesson, block: Block, scene: Scene) -> None:
    """The box of a lesson. A prompt sent before the guess was made waits for it; otherwise it runs."""
    page = scene.page
    chosen = _preset_buttons(lesson, page)
    asked = prompt_box(scene, lesson.front.prompt) or chosen
    note_unfamiliar(st.session_state[page.key("prompt")], lesson.front.model)
    guess = block.value("asks")
    if asked is not None and guess is not None and not committed(lesson, guess):
        st.session_state[page.key("pending")] = asked
    elif asked is not None:
        begin(page, asked, replaces=scene, lesson=lesson)
        st.rerun()
    show_refusal(page, lambda again: begin(page, again, replaces=None, lesson=lesson))
    show_engine_notice()


def _preset_buttons(lesson: Lesson, page: PageState) -> Asked | None:
    """The lesson's own scenarios: each fills the box and is sent off."""
    if not lesson.front.presets:
        return None
    with st.container(horizontal=True, key=page.key("presets")):
        for number, preset in enumerate(read_preset(one) for one in lesson.front.presets):
            key = page.key(f"preset-{number}")
            if st.button(preset.label, key=key, on_click=_fill, args=(page, preset)):
                return Asked(
                    preset.prompt, msgspec.structs.replace(page.link.sampling, max_new_tokens=preset.new_tokens)
                )
    return None


def _fill(page: PageState, preset: Preset) -> None:
    st.session_state[page.key("prompt")] = preset.prompt


def begin_other(lesson: Lesson, scene: Scene) -> None:
    """Start the second run once the first has come to its end: side by side they would disturb each other's times."""
    page = scene.page
    if not scene.other_due or not scene.ended or scene.run is None:
        return
    del st.session_state[page.key(OTHER_DUE)]
    if scene.whole:
        header = scene.run.header
        started = start_run(header.prompt, header.sampling, read_serving(lesson.front.other))
        keep_refusal(page, started)
        if started.run_id is not None:
            page.start_other(started.run_id)
    st.rerun()


def watch_runs(scene: Scene) -> None:
    """While a run in view goes on, look after it and draw the page again when it has ended.

    A picture says so too, but it may stand on another slide, not have loaded, or be shut away like a lesson's answer:
    lesson 7 has none before its answer, and on a busy machine it waited for ever.
    """
    second = scene.ended and not scene.settled and not scene.other_due
    run_id = scene.page.link.other if second else scene.run_id
    if run_id is not None and (second or scene.running):
        st.fragment(_watch, run_every=WATCH_EVERY_S, key=scene.page.key("watch"))(run_id, second=second)


def _watch(run_id: str, *, second: bool) -> None:
    found = find_run(run_id).run
    if found is None or found.end is not None:
        st.rerun()
    if second:
        st.caption(_("The second run goes on: {n} passes so far.").format(n=len(found.passes)))


def is_pending(page: PageState) -> bool:
    """Whether a prompt waits for a guess."""
    return page.key("pending") in st.session_state


def waiting(page: PageState, model: str) -> dict[str, Value]:
    """What is asked for by the prompt that waits, under the names that a question knows; nothing if none waits."""
    asked: Asked | None = st.session_state.get(page.key("pending"))
    if asked is None:
        return {}
    return {
        "asked.prompt": asked.prompt,
        "asked.prompt_tokens": prompt_tokens(asked.prompt, model),
        "asked.new_tokens": asked.sampling.max_new_tokens,
    }


def keep_waiting(page: PageState, lesson: Lesson) -> None:
    """Let the prompt in the box, or the lesson's own if that is empty, wait for an answer, unless another waits."""
    # Flipped back and forth fast enough, a stage loses what stands in its box.
    prompt = st.session_state.get(page.key("prompt"), "").strip() or lesson.front.prompt
    st.session_state.setdefault(page.key("pending"), Asked(prompt, page.link.sampling))


def begin_pending(page: PageState, lesson: Lesson) -> None:
    """The guess is made: run what waited for it."""
    asked = st.session_state.pop(page.key("pending"), None)
    if asked is not None:
        begin(page, asked, replaces=None, lesson=lesson)


def begin(page: PageState, asked: Asked, replaces: Scene | None, lesson: Lesson | None = None) -> None:
    """Start a run in the place of the one in view, which is stopped if it still goes on; a refusal is kept to show.

    A lesson may say how its run is served, and have a second one follow it.
    """
    if replaces is not None and replaces.run_id is not None and replaces.running:
        stop_run(replaces.run_id)
    serving = read_serving(lesson.front.serving) if lesson else asked.serving
    started = start_run(asked.prompt, asked.sampling, serving, model=asked.model)
    keep_refusal(page, started, asked)
    if started.run_id is not None:
        page.start_run(started.run_id, asked.sampling, asked.serving, asked.model)
        st.session_state[page.key(OTHER_DUE)] = bool(lesson and lesson.front.other)


def show_engine_notice() -> None:
    """A line about the engine while it is not ready; it goes by itself when it is."""
    if engine_notice():
        st.fragment(_notice, run_every=NOTICE_EVERY_S)()


def _notice() -> None:
    if notice := engine_notice():
        st.info(plain(notice) + " " + _("What is on the page works meanwhile."))
