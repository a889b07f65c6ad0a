"""What a page's address carries: the run and step in view, and for a shared link the prompt and the settings.

A link is read when a page opens, checked field by field, and written back when a page switch has cleared the address.
The prompt is put into a link only when a person asks for one to share.

    ?prompt=...&new=10&temperature=0.7&top_k=40&top_p=0.9&seed=3&stop=0&run=<id>&other=<id>&at=4
    &guess=passes:11,wait:2.5,larger:state,growth:0~50~100&cache=recomputed&ahead=4&reuse=1

A guess that has been made is in the visitor's own address, so that a reload does not ask again; a shared link leaves it
out, and whoever opens it guesses anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar, cast, get_args
from urllib.parse import urlencode

import msgspec

from engine.account.record import Sampling, Serving, WeightFormat
from engine.loop.request import MAX_DRAFTS, MAX_SEED, MAX_TEMPERATURE
from lessons.curves import MOST_MARKS
from lessons.questions import Answer
from views.prompt_checks import MAX_PROMPT_CHARACTERS, prompt_problem
from views.words import _

MAX_NEW_TOKENS = 2047
MAX_TOP_K = 4096
MAX_STEP = 1_000_000

_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_CURVE = rf"{_NUMBER}(?:~{_NUMBER}){{1,{MOST_MARKS - 1}}}"
_GUESS = re.compile(rf"([a-z0-9][a-z0-9-]{{0,39}}):(-|{_CURVE}|{_NUMBER}|[a-z][a-z0-9-]{{0,39}})")
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

AS_USUAL = Serving()

_T = TypeVar("_T")


@dataclass(frozen=True)
class Link:
    """What one page shows. `prompt` None: the page's own. `run` None: no live run. `at` None: wherever the run is."""

    sampling: Sampling
    prompt: str | None = None
    run: str | None = None
    other: str | None = None
    """The second run of a lesson that compares two."""
    at: int | None = None
    guesses: tuple[tuple[str, Answer | None], ...] = ()
    """Question and answer of each guess made; the answer is None where one went on without."""
    serving: Serving = AS_USUAL
    """How a run asked for in the Lab is served. Guesses are looked up in the text; a draft model is in no link."""
    model: str | None = None
    """The model that a run in the Lab is asked of; None: the engine's own."""


class _BadParameter(ValueError):
    """A query parameter that cannot be used; the message says what would do."""


def read_link(params: Mapping[str, str], default: Sampling) -> tuple[Link, list[str]]:
    """The link in an address, and in plain words every parameter that had to be left out."""
    problems: list[str] = []

    def take(name: str, read: Callable[[str], _T], otherwise: _T) -> _T:
        if name not in params:
            return otherwise
        try:
            return read(params[name])
        except _BadParameter as bad:
            problems.append(_("{name} in the link {why}, so it was left out.").format(name=f"`{name}`", why=bad))
            return otherwise

    sampling = Sampling(
        temperature=take("temperature", _number(0, MAX_TEMPERATURE), default.temperature),
        top_k=take("top_k", _whole(0, MAX_TOP_K), default.top_k),
        top_p=take("top_p", _top_p, default.top_p),
        seed=take("seed", _whole(0, MAX_SEED), default.seed),
        max_new_tokens=take("new", _whole(1, MAX_NEW_TOKENS), default.max_new_tokens),
        ignore_eos=take("stop", _flag, not default.ignore_eos) is False,
    )
    link = Link(
        sampling=sampling,
        prompt=take("prompt", _prompt, None),
        run=take("run", _run_id, None),
        other=take("other", _run_id, None),
        at=take("at", _whole(0, MAX_STEP), None),
        guesses=take("guess", _guesses, ()),
        serving=served(
            take("cache", _cache, True),
            take("ahead", _whole(0, MAX_DRAFTS), 0),
            take("reuse", _flag, False),
            take("weights", _weights, None),
        ),
        model=take("model", _model, None),
    )
    if link.serving.cache == "recomputed" and (link.serving.drafts != "none" or link.serving.reuse_prefix):
        problems.append(
            _("{name} in the link cannot go with `ahead` or `reuse`, so it was left out.").format(name="`cache`")
        )
        link = replace(link, serving=msgspec.structs.replace(link.serving, cache="kept"))
    return link, problems


def served(kept: bool, ahead: int, reuse: bool, weights: WeightFormat | None = None) -> Serving:
    """How a run is served that keeps its cache or not, guesses so many tokens ahead, may reuse a prefix, and has the
    model's weights in this format.
    """
    drafts = Serving(drafts="prompt_lookup", n_drafts=ahead) if ahead else AS_USUAL
    return msgspec.structs.replace(drafts, cache="kept" if kept else "recomputed", reuse_prefix=reuse, weights=weights)


def ahead_of(serving: Serving) -> int:
    """How many tokens are guessed ahead by looking them up; 0 for none."""
    return serving.n_drafts if serving.drafts == "prompt_lookup" else 0


def write_link(link: Link, default: Sampling) -> dict[str, str]:
    """The parameters of a link; what equals the page's default is left out."""
    sampling = link.sampling
    params: dict[str, str] = {}
    if link.prompt is not None:
        params["prompt"] = link.prompt
    if sampling.max_new_tokens != default.max_new_tokens:
        params["new"] = str(sampling.max_new_tokens)
    for name in ("temperature", "top_k", "top_p", "seed"):
        if getattr(sampling, name) != getattr(default, name):
            params[name] = repr(getattr(sampling, name))
    if sampling.ignore_eos != default.ignore_eos:
        params["stop"] = "0" if sampling.ignore_eos else "1"
    if link.run is not None:
        params["run"] = link.run
    if link.other is not None:
        params["other"] = link.other
    if link.at is not None:
        params["at"] = str(link.at)
    if link.guesses:
        params["guess"] = ",".join(f"{name}:{_written(answer)}" for name, answer in link.guesses)
    if link.serving.cache == "recomputed":
        params["cache"] = "recomputed"
    if ahead := ahead_of(link.serving):
        params["ahead"] = str(ahead)
    if link.serving.reuse_prefix:
        params["reuse"] = "1"
    if link.serving.weights is not None:
        params["weights"] = link.serving.weights
    if link.model is not None:
        params["model"] = link.model
    return params


def address(base: str | None, params: Mapping[str, str]) -> str:
    """A whole address: the page's own without its query, and the parameters."""
    page = (base or "").partition("?")[0].partition("#")[0]
    return f"{page}?{urlencode(params)}" if params else page


def _number(low: float, high: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        # The comparison is also false for "nan", which float() reads gladly.
        if not low <= value <= high:
            raise _BadParameter(_("must be a number from {low} to {high}").format(low=low, high=f"{high:g}"))
        return value

    return read


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= 16 and low <= int(text) <= high):
            raise _BadParameter(_("must be a whole number from {low} to {high}").format(low=low, high=high))
        return int(text)

    return read


def _weights(text: str) -> WeightFormat:
    formats = get_args(WeightFormat)
    if text not in formats:
        raise _BadParameter(_("must be one of {names}").format(names=", ".join(formats)))
    return cast(WeightFormat, text)


def _top_p(text: str) -> float:
    value = _number(0, 1)(text)
    if value == 0:
        raise _BadParameter(_("must be above 0 and at most 1"))
    return value


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise _BadParameter(_("must be 1 or 0"))
    return text == "1"


def _cache(text: str) -> bool:
    if text not in ("kept", "recomputed"):
        raise _BadParameter(_("must be kept or recomputed"))
    return text == "kept"


def _prompt(text: str) -> str:
    if len(text) > MAX_PROMPT_CHARACTERS:
        raise _BadParameter(_("is longer than {n} characters").format(n=f"{MAX_PROMPT_CHARACTERS:,}"))
    if problem := prompt_problem(text):
        raise _BadParameter(_("cannot be used ({why})").format(why=problem.rstrip(".")))
    return text


def _written(answer: Answer | None) -> str:
    if answer is None:
        return "-"
    if isinstance(answer, tuple):
        return "~".join(_written(one) for one in answer)
    return f"{answer:.9f}".rstrip("0").rstrip(".") if isinstance(answer, float) else str(answer)


def _guesses(text: str) -> tuple[tuple[str, Answer | None], ...]:
    found = [_GUESS.fullmatch(one) for one in text.split(",")]
    if not all(found):
        raise _BadParameter(_("is not a guess"))
    return tuple((one[1], _answer(one[2])) for one in found if one)


def _answer(text: str) -> Answer | None:
    if text == "-":
        return None
    if "~" in text:
        return tuple(_read_number(one) for one in text.split("~"))
    return _read_number(text) if text[0].isdecimal() else text


def _read_number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _model(text: str) -> str:
    if not _MODEL.fullmatch(text):
        raise _BadParameter(_("is not the name of a model"))
    return text


def _run_id(text: str) -> str:
    if not _RUN_ID.fullmatch(text):
        raise _BadParameter(_("is not the id of a run"))
    return text
