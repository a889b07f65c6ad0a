"""Who guesses for whom: each request names its source of drafts, and before a step its guesses are made."""

from __future__ import annotations

from collections.abc import Iterable

from engine.account.record import DraftSource
from engine.loop.drafting.prompt_lookup import PromptLookup
from engine.loop.parts import Drafts
from engine.loop.request import Request, RequestError
from engine.loop.sequence import Sequence


class Drafters:
    """Prompt lookup, and a draft model if one is loaded."""

    def __init__(self, draft_model: Drafts | None = None) -> None:
        self._sources: dict[DraftSource, Drafts] = {"prompt_lookup": PromptLookup()}
        if draft_model is not None:
            self._sources["model"] = draft_model

    def check(self, request: Request) -> None:
        """Raise `RequestError` for a request whose source is not here."""
        source = request.serving.drafts
        if source != "none" and source not in self._sources:
            raise RequestError("no_draft_model", "No draft model is loaded here. Use prompt lookup, or no drafts.")

    def guess(self, running: Iterable[Sequence]) -> None:
        """Let those who want drafts have some for the coming step."""
        for sequence in running:
            source = sequence.serving.drafts
            if source == "none" or sequence.cancelled or sequence.phase == "prefill":
                continue
            # The pass gives a token of its own, so one draft fewer than tokens are wanted is of use.
            useful = min(sequence.serving.n_drafts, sequence.max_new_tokens - sequence.n_new - 1)
            sequence.drafts = self._sources[source].propose(sequence, useful) if useful > 0 else ()

    def forget(self, sequence: Sequence) -> None:
        """The sequence has left."""
        if sequence.serving.drafts != "none":
            self._sources[sequence.serving.drafts].forget(sequence)
