"""Where a prompt is typed: the one box of a lesson, and the Lab's form with every setting.

What was typed stays: through a refused prompt, a rerun and a page switch.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.account.record import Sampling, Serving
from engine.loop.request import MAX_SEED, MAX_TEMPERATURE
from views.engine_calls import stop_run
from views.links import AS_USUAL, MAX_NEW_TOKENS, MAX_TOP_K
from views.locked import Locks, locks_of, say_unknown
from views.model_picker import fill_model, model_box, model_in_box
from views.page_state import PageState
from views.prompt_checks import prompt_problem, unfamiliar
from views.safe_text import plain
from views.scene import Scene, SceneOnce, scene_of
from views.serving_form import fill_serving, serving_boxes, serving_in_boxes, serving_problem
from views.words import _


@dataclass(frozen=True)
class Asked:
    """A prompt and settings that a person has sent off."""

    prompt: str
    sampling: Sampling
    serving: Serving = AS_USUAL
    model: str | None = None
    """None: the engine's own."""


def prompt_box(scene: Scene, first_prompt: str) -> Asked | None:
    """One line and a button; what was asked if it was sent now and can be run, with the problem beneath it if not."""
    page = scene.page
    key = _filled_prompt(scene, first_prompt)
    with st.form(page.key("ask"), border=False):
        box, buttons = st.columns([5, 2] if scene.running else [5, 1], vertical_alignment="bottom")
        prompt = box.text_input(
            _("The beginning of a story"), key=key, persist_state="session", autocomplete="off",
            label_visibility="collapsed", placeholder=_("The beginning of a story"),
        )  # fmt: skip
        with buttons.container(horizontal=True):
            sent = st.form_submit_button(_("Run it"), type="primary", width="stretch")
            _stop_button(scene)
    if not sent:
        return None
    asked = Asked(prompt, page.link.sampling)
    if problem := problem_with(asked):
        st.error(problem)
        return None
    return asked


STOP = "stop-button"
"""Key of the Lab's fragment that depends on whether its run goes on."""


def lab_form(scene: Scene, first_prompt: str, models: list[str]) -> None:
    """The prompt and every setting. Whether it was sent is known before it is drawn: see `sent_from_lab`."""
    page = scene.page
    key = _filled_prompt(scene, first_prompt)
    locks = locks_of(page)
    say_unknown(locks)
    with st.form(page.key("ask"), border=True):
        st.text_area(_("Prompt"), key=key, persist_state="session", height=90, disabled="prompt" in locks.locked)
        model_box(page, models)
        _boxes(page, locks)
        if not _is_serving_fixed(locks):
            serving_boxes(page)
        with st.container(horizontal=True):
            st.form_submit_button(
                _("Run it"), type="primary", on_click=st.session_state.update, args=({page.key("sent"): True},)
            )
            st.fragment(_lab_stop_button, key=page.key(STOP))(page, scene.recording, SceneOnce(scene))


def is_sent(page: PageState) -> bool:
    """Whether the Lab's button was pressed and what it sent has not been taken yet."""
    return bool(st.session_state.get(page.key("sent")))


def sent_from_lab(page: PageState, models: list[str]) -> Asked | None:
    """What the Lab's form asks for, once after each press of its button; None otherwise.

    Asked at the top of the page, so that it is drawn once for a run, with the new run in it.
    """
    if not is_sent(page):
        return None
    del st.session_state[page.key("sent")]
    serving = page.link.serving if _is_serving_fixed(locks_of(page)) else serving_in_boxes(page)
    return Asked(st.session_state[page.key("prompt")], _sampling_in_boxes(page), serving, model_in_box(page, models))


def _is_serving_fixed(locks: Locks) -> bool:
    return "serving" in locks.locked | locks.hidden


def _filled_prompt(scene: Scene, first_prompt: str) -> str:
    """The box's key, with the page's own prompt in it at first; a person's own text is left alone.

    A link fills the boxes once, when it arrives: with what it carries, else with what the run that it names was asked.
    """
    page = scene.page
    key = page.key("prompt")
    if page.take_arrival():
        asked = scene.run.header if scene.run is not None and not scene.recorded else None
        _fill_settings(page, asked.sampling if asked else page.link.sampling)
        fill_serving(page, asked.serving if asked else page.link.serving)
        fill_model(page, asked.model.name if asked else page.link.model)
        prompt = page.link.prompt or (asked.prompt if asked else None)
        if prompt is not None:
            st.session_state[key] = prompt
    st.session_state.setdefault(key, first_prompt)
    return key


def _stop_button(scene: Scene) -> None:
    """Stands beside the button that started the run, for as long as it goes on."""
    if scene.running:
        _stop(scene)


def _lab_stop_button(page: PageState, recording: str, drawn: SceneOnce) -> None:
    """The same, drawn with the page and once more by itself when the run has ended.

    Then it stays where it is and cannot be pressed. It went away once, but what a fragment no longer draws stays on the
    page if another fragment, here one with a timer, begins before Streamlit has sent that the first one is finished.
    """
    with_the_page = drawn.take()
    if with_the_page is None or with_the_page.running:
        _stop(with_the_page or scene_of(page, recording))


def _stop(scene: Scene) -> None:
    pressed = st.form_submit_button(_("Stop"), icon=":material/stop:", shortcut="Escape", disabled=not scene.running)
    if pressed and scene.run_id is not None and (no := stop_run(scene.run_id)):
        st.error(plain(no))


def problem_with(asked: Asked) -> str | None:
    """Why this cannot be run, in words for whoever asked; None if it can."""
    return prompt_problem(asked.prompt) or serving_problem(asked.serving)


def note_unfamiliar(prompt: str, model: str) -> None:
    """Say that the story model knows only ASCII, when there is anything else."""
    if model == "story" and unfamiliar(prompt):
        st.info(
            _(
                "This model has only ever read plain English text (ASCII). It takes other characters in byte by byte "
                "and will run, but do not expect sense from what follows."
            )
        )


def _fill_settings(page: PageState, sampling: Sampling) -> None:
    """Put settings into the Lab's boxes."""
    st.session_state[page.key("new")] = sampling.max_new_tokens
    st.session_state[page.key("temperature")] = float(sampling.temperature)
    st.session_state[page.key("top_k")] = sampling.top_k
    st.session_state[page.key("top_p")] = float(sampling.top_p)
    st.session_state[page.key("seed")] = sampling.seed
    st.session_state[page.key("stop")] = not sampling.ignore_eos


def _boxes(page: PageState, locks: Locks) -> None:
    """The boxes of the settings. Their limits are the engine's, so what they accept, it accepts."""
    if page.key("new") not in st.session_state:
        _fill_settings(page, page.link.sampling)
    boxes = _Boxes(page, locks)
    with st.grid(3, min_column_width=150):
        boxes.whole("new", _("New tokens"), 1, MAX_NEW_TOKENS, _("How many tokens to write at most."))
        boxes.decimal(
            "temperature", _("Temperature"), 0.0, MAX_TEMPERATURE, 0.1,
            _("0 always takes the likeliest token. Higher values flatten the odds before a token is drawn."),
        )  # fmt: skip
        boxes.whole("top_k", _("Top-k"), 0, MAX_TOP_K, _("Draw among the k likeliest tokens; 0 is off."))
        boxes.decimal(
            "top_p", _("Top-p"), 0.01, 1.0, 0.05,
            _("Draw among the likeliest tokens that together reach this probability; 1 is off."),
        )  # fmt: skip
        boxes.whole("seed", _("Seed"), 0, MAX_SEED, _("The same seed and settings give the same text."))
        boxes.tick("stop", _("Stop at end of text"))


def _sampling_in_boxes(page: PageState) -> Sampling:
    """What the boxes say, and where one is hidden, what it would show."""
    temperature, top_k, top_p, seed, new, stop = (
        st.session_state[page.key(name)] for name in ("temperature", "top_k", "top_p", "seed", "new", "stop")
    )
    return Sampling(float(temperature), int(top_k), float(top_p), int(seed), int(new), ignore_eos=not stop)


@dataclass(frozen=True)
class _Boxes:
    """The boxes of one page that are not hidden."""

    page: PageState
    locks: Locks

    def whole(self, name: str, label: str, low: int, high: int, explanation: str) -> None:
        """A whole number."""
        if name not in self.locks.hidden:
            st.number_input(
                label, low, high, step=1, key=self.page.key(name), persist_state="session", help=explanation,
                disabled=name in self.locks.locked,
            )  # fmt: skip

    def decimal(self, name: str, label: str, low: float, high: float, step: float, explanation: str) -> None:
        """A number with two decimals."""
        if name not in self.locks.hidden:
            st.number_input(
                label, low, high, step=step, format="%.2f", key=self.page.key(name), persist_state="session",
                help=explanation, disabled=name in self.locks.locked,
            )  # fmt: skip

    def tick(self, name: str, label: str) -> None:
        """On or off."""
        if name not in self.locks.hidden:
            st.checkbox(label, key=self.page.key(name), persist_state="session", disabled=name in self.locks.locked)
