"""A link brings back what it was made of, and a spoilt one costs no more than the parameter that is spoilt."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.account.record import Sampling, Serving
from engine.loop.request import MAX_DRAFTS, MAX_SEED, Request, SamplingParams
from lessons.curves import MOST_MARKS
from views.links import MAX_NEW_TOKENS, MAX_STEP, MAX_TOP_K, Link, address, read_link, served, write_link
from views.prompt_checks import prompt_problem

LESSON = Sampling(max_new_tokens=10, ignore_eos=True)

samplings = st.builds(
    Sampling,
    temperature=st.floats(0, 100),
    top_k=st.integers(0, MAX_TOP_K),
    top_p=st.floats(0, 1, exclude_min=True),
    seed=st.integers(0, MAX_SEED),
    max_new_tokens=st.integers(1, MAX_NEW_TOKENS),
    ignore_eos=st.booleans(),
)
prompts = st.text(min_size=1, max_size=200).filter(lambda text: prompt_problem(text) is None)
numbers = st.integers(0, 999_999_999) | st.integers(0, 10**9).map(lambda thousandths: thousandths / 1000).filter(
    lambda value: value % 1
)
answers = (
    st.none()
    | numbers
    | st.lists(numbers, min_size=2, max_size=MOST_MARKS).map(tuple)
    | st.from_regex(r"[a-z][a-z0-9-]{0,39}", fullmatch=True)
)
formats = st.sampled_from([None, "bf16", "int8", "int4"])
servings = st.builds(served, st.just(True), st.integers(0, MAX_DRAFTS), st.booleans(), formats) | st.just(
    served(False, 0, False)
)
links = st.builds(
    Link,
    sampling=samplings,
    prompt=st.none() | prompts,
    run=st.none() | st.from_regex(r"[0-9a-f]{32}", fullmatch=True),
    other=st.none() | st.from_regex(r"[0-9a-f]{32}", fullmatch=True),
    at=st.none() | st.integers(0, MAX_STEP),
    guesses=st.lists(
        st.tuples(st.from_regex(r"[a-z0-9][a-z0-9-]{0,39}", fullmatch=True), answers),
        max_size=3,
    ).map(tuple),
    serving=servings,
    model=st.none() | st.sampled_from(["smollm2-135m", "qwen3.5-0.8b"]),
)


@given(links, samplings)
def test_a_link_survives_the_way_through_an_address(link, default):
    url = address("http://127.0.0.1:8501/lab?old=1", write_link(link, default))
    params = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    assert read_link(params, default) == (link, [])


def test_what_equals_the_pages_own_settings_is_left_out():
    assert write_link(Link(LESSON, run="a" * 32, at=4), LESSON) == {"run": "a" * 32, "at": "4"}
    assert address(None, {}) == ""
    assert address("http://host/lab", {}) == "http://host/lab"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", "1e9"), ("temperature", "-1"), ("temperature", "nan"), ("temperature", "hot"),
        ("temperature", "inf"), ("top_p", "0"), ("top_p", "1.5"), ("top_k", "-3"), ("top_k", "4.5"),
        ("seed", "9" * 30), ("seed", "٣"), ("new", "0"), ("new", "1000000"), ("new", ""), ("stop", "maybe"),
        ("guess", "11"), ("guess", "passes:Eleven!"), ("guess", "passes:11,"),
        ("guess", "growth:1~2~"), ("guess", "growth:1~state"), ("guess", "growth:" + "~".join("1" * 13)),
        ("run", "../../etc/passwd"), ("run", "x" * 65), ("at", "-1"),
        ("cache", "kept?"), ("ahead", "17"), ("ahead", "-1"), ("reuse", "yes"),
        ("prompt", "x" * 300_000), ("prompt", "a\x00b"), ("prompt", ""),
    ],
)  # fmt: skip
def test_a_parameter_that_cannot_be_used_is_named_and_the_default_stands(name, value):
    link, problems = read_link({name: value, "seed": "3"} if name != "seed" else {name: value}, LESSON)
    (problem,) = problems
    assert f"`{name}`" in problem and len(problem) < 300
    assert link.sampling.seed == (3 if name != "seed" else 0)
    assert (link.prompt, link.run, link.at, link.guesses, link.serving) == (None, None, None, (), Serving())
    assert link.sampling.max_new_tokens == 10 and link.sampling.temperature == 0


@given(st.dictionaries(st.sampled_from(["new", "temperature", "top_k", "top_p", "seed", "stop"]), st.text(max_size=12)))
def test_whatever_an_address_holds_the_engine_would_accept_the_settings(params):
    link, _ = read_link(params, LESSON)
    SamplingParams(
        link.sampling.temperature, link.sampling.top_k, link.sampling.top_p, link.sampling.seed,
        link.sampling.max_new_tokens, link.sampling.ignore_eos,
    )  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(["cache", "ahead", "reuse"]), st.sampled_from(["recomputed", "0", "1", "16", "x"]))
)
def test_whatever_an_address_holds_the_engine_would_accept_how_to_serve_it(params):
    link, problems = read_link(params, LESSON)
    Request("A fox", serving=link.serving)
    if link.serving.cache == "kept" and params.get("cache") == "recomputed":
        assert any("`cache`" in one and "`ahead`" in one for one in problems)


def test_unknown_parameters_are_none_of_our_business():
    assert read_link({"embed": "true", "utm_source": "x"}, LESSON) == (Link(LESSON), [])
