"""How a run is served: the boxes of the Lab's form for it, what cannot go together, and the words for a run in view."""

from __future__ import annotations

import streamlit as st

from engine.account.record import Admitted, Run, Serving, WeightFormat
from engine.loop.request import MAX_DRAFTS
from views.links import AS_USUAL, ahead_of, served
from views.page_state import PageState
from views.scene import Scene
from views.words import N_, Words, _, ngettext

KEPT, RECOMPUTED = "kept", "recomputed"
WEIGHT_WORDS: Words[WeightFormat] = Words({
    "bf16": N_("16, as it was trained"), "int8": "8", "int4": "4",
})  # fmt: skip
CACHE_WORDS = Words({KEPT: N_("kept from pass to pass"), RECOMPUTED: N_("computed again at every pass")})


def fill_serving(page: PageState, serving: Serving) -> None:
    """Put settings into the boxes."""
    st.session_state[page.key("cache")] = serving.cache
    st.session_state[page.key("ahead")] = ahead_of(serving)
    st.session_state[page.key("reuse")] = serving.reuse_prefix
    st.session_state[page.key("weights")] = serving.weights or "bf16"


def serving_boxes(page: PageState) -> None:
    """The boxes, folded away until somebody wants them: most runs are served as usual."""
    if page.key("cache") not in st.session_state:
        fill_serving(page, page.link.serving)
    with st.expander(_("How it is served"), key=page.key("serving")):
        st.radio(
            _("What the model remembers of earlier tokens"), (KEPT, RECOMPUTED), key=page.key("cache"), horizontal=True,
            format_func=CACHE_WORDS.__getitem__, persist_state="session",
            help=_("Kept: the KV cache and the state. Computed again: every pass takes in the whole text so far."),
        )  # fmt: skip
        st.number_input(
            _("Tokens guessed ahead"), 0, MAX_DRAFTS, step=1, key=page.key("ahead"), persist_state="session", width=220,
            help=_("Guesses are looked up in the text so far, and each pass checks them. 0: none."),
        )  # fmt: skip
        st.checkbox(
            _("Begin from what an earlier run left"), key=page.key("reuse"), persist_state="session",
            help=_(
                "If this prompt goes on where an earlier one or its reply ended, and that ran with this box ticked, "
                "what they share is not computed again."
            ),
        )  # fmt: skip
        st.radio(
            _("Bits of a weight"), list(WEIGHT_WORDS), key=page.key("weights"), format_func=WEIGHT_WORDS.__getitem__,
            persist_state="session", horizontal=True,
            help=_("Fewer bits are read faster and change the odds a little. The first such run loads that model."),
        )  # fmt: skip


def serving_in_boxes(page: PageState) -> Serving:
    """What the boxes say."""
    cache, ahead, reuse, weights = (st.session_state[page.key(name)] for name in ("cache", "ahead", "reuse", "weights"))
    return served(cache == KEPT, int(ahead), bool(reuse), None if weights == "bf16" else weights)


def serving_problem(serving: Serving) -> str | None:
    """Why these settings cannot go together, in plain words; None if they can."""
    if serving.cache == RECOMPUTED and (serving.drafts != "none" or serving.reuse_prefix):
        return _(
            "A run that computes everything again keeps nothing, so it can neither guess ahead nor begin from an "
            "earlier run. Keep its memory, or switch those two off."
        )
    return None


def show_serving(scene: Scene) -> None:
    """One line on how the run in view was served; nothing if it was as usual."""
    if scene.run is not None and (words := serving_words(scene.run)):
        st.caption(_("This run: {how}.").format(how=", ".join(words)))


def serving_words(run: Run) -> list[str]:
    """What was not as usual, and what came of it as far as the run has gone."""
    serving, words = run.header.serving, []
    if serving.cache == RECOMPUTED:
        words.append(_("everything computed again at every pass"))
    if serving.drafts != AS_USUAL.drafts:
        drafted, accepted = (sum(getattr(one, what) for one in run.passes) for what in ("drafted", "accepted"))
        source = _("looked up") if serving.drafts == "prompt_lookup" else _("from a smaller model")
        words.append(
            ngettext(
                "up to {n} token guessed ahead, {source}: {accepted} of {drafted} guesses held",
                "up to {n} tokens guessed ahead, {source}: {accepted} of {drafted} guesses held",
                serving.n_drafts,
            ).format(n=serving.n_drafts, source=source, accepted=accepted, drafted=drafted)
        )
    if serving.reuse_prefix:
        words.append(_reused(run))
    if serving.weights is not None:
        words.append(_("weights in {format}").format(format=run.header.model.weight_dtype))
    return words


def _reused(run: Run) -> str:
    reused = next((one.reused_positions for one in run.events if isinstance(one, Admitted)), None)
    if not reused:
        return _("no earlier run to begin from") if reused == 0 else _("looks for an earlier run to begin from")
    return ngettext(
        "began from {n} token that an earlier run left", "began from {n} tokens that an earlier run left", reused
    ).format(n=reused)
