"""Where two runs part: in what was asked, in the prompt, and in what they wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from engine.account.outside_record import AnyRun, OutsideRun
from engine.account.record import Run, Token
from views.words import _, ngettext

Unit = Literal["tokens", "characters"]


@dataclass(frozen=True)
class Parting:
    """Two texts, as far as they are the same and from there on."""

    same: str
    n_same: int
    unit: Unit
    first_rest: str
    second_rest: str
    first_odds: float | None = None
    """The model's own probability of the first run's token where they part."""
    second_odds: float | None = None

    @property
    def equal(self) -> bool:
        """Whether the texts do not part at all."""
        return not self.first_rest and not self.second_rest

    @property
    def sentence(self) -> str:
        """Plain words for it."""
        n = self.n_same
        if self.equal:
            if self.unit == "tokens":
                return ngettext("The same {n} token.", "The same {n} tokens.", n).format(n=n)
            return ngettext("The same {n} character.", "The same {n} characters.", n).format(n=n)
        if n == 0:
            return _("They part at the very beginning.")
        if not self.first_rest or not self.second_rest:
            return _("The same, and then one of them goes on.")
        if self.unit == "tokens":
            return ngettext(
                "The same for {n} token, then they part.", "The same for {n} tokens, then they part.", n
            ).format(n=n)
        return ngettext(
            "The same for {n} character, then they part.", "The same for {n} characters, then they part.", n
        ).format(n=n)


def prompts_part(first: AnyRun, second: AnyRun) -> Parting:
    """The two prompts."""
    if isinstance(first, Run) and isinstance(second, Run) and same_tokens(first, second):
        return _by_tokens(first.header.prompt_tokens, second.header.prompt_tokens)
    return _by_characters(first.header.prompt, second.header.prompt)


def texts_part(first: AnyRun, second: AnyRun) -> Parting:
    """What the two wrote: token by token where both speak in the same tokens, else by characters."""
    if isinstance(first, OutsideRun) or isinstance(second, OutsideRun) or not same_tokens(first, second):
        return _by_characters(first.text, second.text)
    one, other = first.emissions, second.emissions
    parting = _by_tokens([each.token for each in one], [each.token for each in other])
    if parting.n_same >= min(len(one), len(other)):
        return parting
    return replace(parting, first_odds=one[parting.n_same].odds, second_odds=other[parting.n_same].odds)


def same_tokens(first: Run, second: Run) -> bool:
    """Whether both runs' tokens are of one vocabulary, as far as the records tell."""
    one, other = first.header.model, second.header.model
    return (one.architecture, one.vocab_size) == (other.architecture, other.vocab_size)


def asked_differently(first: AnyRun, second: AnyRun) -> list[tuple[str, str, str]]:
    """Name and both values of everything that differs in what was asked, of what, and on what, as far as both tell."""
    one, other = _asked(first), _asked(second)
    return [(name, one[name], other[name]) for name in one if name in other and one[name] != other[name]]


def _asked(run: AnyRun) -> dict[str, str]:
    sampling = run.header.sampling
    common = {
        _("new tokens, at most"): f"{sampling.max_new_tokens:,}",
        _("temperature"): f"{sampling.temperature:g}",
        _("top-p"): f"{sampling.top_p:g}",
        _("seed"): str(sampling.seed),
    }
    if isinstance(run, OutsideRun):
        return {_("model"): run.header.model, _("machine"): run.header.server, **common}
    header = run.header
    serving = header.serving
    return {
        _("model"): header.model.name,
        _("machine"): header.device.name,
        _("threads"): str(header.device.threads),
        **common,
        _("top-k"): str(sampling.top_k),
        _("end of text"): _("goes on") if sampling.ignore_eos else _("stops"),
        _("cache"): _("kept") if serving.cache == "kept" else _("recomputed"),
        _("guessed ahead"): "0" if serving.drafts == "none" else str(serving.n_drafts),
        _("prefix reused"): _("may be") if serving.reuse_prefix else _("no"),
        _("weights"): serving.weights or header.model.weight_dtype,
        _("kernels"): ", ".join(sorted(set(header.device.kernels.values()))),
    }


def _by_tokens(first: Sequence[Token], second: Sequence[Token]) -> Parting:
    pairs = zip(first, second, strict=False)
    n_same = next((n for n, (one, other) in enumerate(pairs) if one.id != other.id), min(len(first), len(second)))
    return Parting(_text(first[:n_same]), n_same, "tokens", _text(first[n_same:]), _text(second[n_same:]))


def _by_characters(first: str, second: str) -> Parting:
    pairs = zip(first, second, strict=False)
    n_same = next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))
    if not first[:n_same].strip():
        n_same = 0  # that both begin with a space says nothing
    return Parting(first[:n_same], n_same, "characters", first[n_same:], second[n_same:])


def _text(tokens: Sequence[Token]) -> str:
    return b"".join(token.raw for token in tokens).decode("utf-8", errors="replace")
