"""What the engine refuses, in the person's language.

The engine speaks English, and its own sentence names the numbers, so English readers get that. In another language a
fault has a sentence by its code; where only the engine knows more, its own words follow.
"""

from __future__ import annotations

from engine.serve.client import EngineRefused
from views.words import DEFAULT, N_, _, language

SENTENCES: dict[str, str] = {
    "bad_sampling": N_("The engine cannot use these settings: {message}"),
    "bad_serving": N_("The engine cannot serve the run like this: {message}"),
    "bad_start": N_("The address asks for a part of the run that cannot be."),
    "body_too_large": N_("This is more text than the engine takes."),
    "empty_prompt": N_("The prompt is empty. Type some text for the model to continue."),
    "engine_closed": N_("The engine is shutting down. Try again in a moment."),
    "engine_failed": N_("The model could not be loaded: {message}"),
    "engine_loading": N_("The engine is still loading the model. Try again in a moment."),
    "engine_unavailable": N_("The engine does not answer now. Try again in a moment."),
    "no_draft_model": N_("This engine has no smaller model to guess with."),
    "no_such_head": N_("This layer has no such head: {message}"),
    "no_such_layer": N_("This layer has no recurrent state: {message}"),
    "not_text": N_("The prompt is not text that can be read: {message}"),
    "nothing_to_trace": N_("The run was stopped before its first pass."),
    "other_model": N_("The run was made with another model than is loaded."),
    "other_weights": N_("This engine holds the model's weights in another format: {message}"),
    "prompt_too_long": N_("The prompt is too long for this model: {message}"),
    "queue_full": N_("Too many requests are waiting already. Try again in a little while."),
    "reservation_over": N_("The reservation is over. Reserve the engine again, or run as usual."),
    "reserved": N_("The engine is reserved already. A reservation ends by itself."),
    "run_failed": N_("The run failed, so there is nothing whole to look into."),
    "run_not_finished": N_("The run has not ended yet. Trace it when it has."),
    "too_many_new_tokens": N_("So many new tokens do not fit behind this prompt: {message}"),
    "unknown_model": N_("The engine has no such model: {message}"),
    "unknown_run": N_("There is no such run here. It may be older than what is kept, or the address is wrong."),
}
"""Code -> a sentence; {message} is the engine's own."""


def in_words(no: EngineRefused) -> str:
    """Why the engine refused, for the place where the person looks."""
    sentence = SENTENCES.get(no.code)
    if sentence is None or language() == DEFAULT:
        return no.message
    return _(sentence).format(message=no.message)


def fault_labels() -> dict[str, str]:
    """The same for what reaches the browser past the page: `fault_<code>`; none in English."""
    if language() == DEFAULT:
        return {}
    return {f"fault_{code}": _(sentence) for code, sentence in SENTENCES.items()}
