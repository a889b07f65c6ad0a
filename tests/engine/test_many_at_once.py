"""Whatever a request shares its steps, its memory or its beginning with, it gets what it would get alone (law 8).

A small random model of the real architecture in float32, tiny pools, every policy, drafts, prefixes, cancellations. The
memory's books are checked after every step, and whatever is free is filled with NaN: a read of it would spread.
"""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Engine, Request, SamplingParams
from engine.account import record_file
from engine.account.record import Admitted, Preempted, Serving
from engine.loop.drafting.draft_model import DraftModel
from engine.loop.policy import Policy
from engine.loop.runner import Runner
from engine.model.model import Model
from engine.model.tokenizer import Tokenizer

TEXT = "The king saw the fox. The fox saw the king. The king saw the moon and the fox saw the king again."


@pytest.fixture(scope="module")
def model(small_model_folder):
    torch.set_num_threads(1)
    return Model.load(small_model_folder, torch.float32, torch.float32)


@pytest.fixture(scope="module")
def tokenizer(small_model_folder):
    return Tokenizer(small_model_folder)


def new_engine(model, tokenizer, policy=None, *, n_slots=12, n_positions=1024, checkpoints=4, drafts=False):
    memory = model.new_memory(n_slots=n_slots, n_positions=n_positions)
    memory.poison_free()
    draft_model = DraftModel(model, model.new_memory(n_slots=8, n_positions=1024)) if drafts else None
    runner = Runner(model, memory, checkpoints)
    return Engine(runner, tokenizer, model.shape, policy=policy, context_length=128, draft_model=draft_model)


def ask(prompt, new=12, *, serving=None, **sampling):
    chosen = SamplingParams(max_new_tokens=new, ignore_eos=True, **sampling)
    return Request(prompt, chosen, serving=serving or Serving())


def serve(engine, requests, *, cancel=()):
    """Submit all, step to the end with the books checked and free memory poisoned after every step."""
    memory = engine._runner.memory
    logs = [engine.submit(request) for request in requests]
    for step in itertools.count():
        if step == 3:
            for i in cancel:
                logs[i].cancel()
        if not engine.step():
            break
        memory.check_integrity()
        memory.poison_free()
    for log in logs:
        record_file.check(log.run)
    return [log.run for log in logs]


def tokens(run):
    return [emission.token.id for emission in run.emissions]


class Alone:
    """What a request gives by itself in a fresh engine, worked out once."""

    def __init__(self, model, tokenizer):
        self._parts = model, tokenizer
        self._known = {}

    def __call__(self, request):
        key = (request.prompt, request.sampling)
        if key not in self._known:
            self._known[key] = new_engine(*self._parts).run(Request(request.prompt, request.sampling))
        return self._known[key]


@pytest.fixture(scope="module")
def alone(model, tokenizer):
    return Alone(model, tokenizer)


SERVINGS = {
    "plain": Serving(),
    "recomputed": Serving(cache="recomputed"),
    "lookup": Serving(drafts="prompt_lookup", n_drafts=3),
    "draft model": Serving(drafts="model", n_drafts=3),
    "prefix": Serving(reuse_prefix=True),
    "prefix and lookup": Serving(reuse_prefix=True, drafts="prompt_lookup", n_drafts=2),
}


@pytest.mark.parametrize("policy", ["continuous", "decode_first", "prefill_first", "static"])
@pytest.mark.parametrize("chunk", [None, 1, 7, 64])
@pytest.mark.parametrize("serving", SERVINGS)
def test_every_way_of_serving_gives_the_same_tokens(model, tokenizer, alone, policy, chunk, serving):
    requests = [ask(TEXT[:n], serving=SERVINGS[serving]) for n in (5, 40, 90, 33)]
    engine = new_engine(model, tokenizer, Policy(policy, 3, 96, chunk), drafts=True)
    for run, request in zip(serve(engine, requests), requests, strict=True):
        assert tokens(run) == tokens(alone(request))


def test_with_a_draft_model_that_is_the_model_every_greedy_draft_stands(model, tokenizer, alone):
    request = ask(TEXT, 13, serving=SERVINGS["draft model"])
    (run,) = serve(new_engine(model, tokenizer, drafts=True), [request])
    assert [len(p.emitted) for p in run.passes] == [1, 4, 4, 4]
    assert tokens(run) == tokens(alone(request))


@pytest.mark.parametrize("settings_", [{"temperature": 1.0}, {"temperature": 0.7, "top_k": 20}])
def test_sampling_with_looked_up_drafts_draws_the_very_same_tokens(model, tokenizer, alone, settings_):
    requests = [ask(TEXT, serving=SERVINGS["lookup"], seed=seed, **settings_) for seed in range(4)]
    for run, request in zip(serve(new_engine(model, tokenizer), requests), requests, strict=True):
        assert tokens(run) == tokens(alone(request))


def test_a_sampled_run_with_a_draft_model_is_its_own_and_repeatable(model, tokenizer):
    request = ask(TEXT, 20, serving=SERVINGS["draft model"], temperature=1.0, seed=3)
    first, second = (serve(new_engine(model, tokenizer, drafts=True), [request])[0] for _ in range(2))
    assert tokens(first) == tokens(second)
    assert sum(p.accepted for p in first.passes) > 0


def test_preempted_requests_prefill_again_and_say_the_same(model, tokenizer, alone):
    requests = [ask(TEXT[i : i + 40], 40) for i in range(4)]
    engine = new_engine(model, tokenizer, Policy(max_running=4), n_positions=192)
    runs = serve(engine, requests)
    gave_up = [[e for e in run.events if isinstance(e, Preempted)] for run in runs]
    assert any(gave_up)
    assert not gave_up[0], "the oldest is never sent away"
    for run, request, events in zip(runs, requests, gave_up, strict=True):
        assert tokens(run) == tokens(alone(request))
        assert [isinstance(e, Admitted) for e in run.events].count(True) == len(events)
        refills = [p for p in run.passes if p.phase == "prefill" and p.start_position == 0]
        assert len(refills) >= 1 + sum(event.positions > 0 for event in events)


def test_a_prompt_seen_before_is_not_computed_again_and_the_record_says_what_was_spared(model, tokenizer, alone):
    engine = new_engine(model, tokenizer)
    again = ask(TEXT, serving=SERVINGS["prefix"])
    serve(engine, [again])
    (run,) = serve(engine, [ask(TEXT + " Then", serving=SERVINGS["prefix"])])
    (admitted,) = (e for e in run.events if isinstance(e, Admitted))
    n = len(tokenizer.encode(TEXT))
    assert admitted.reused_positions == n
    assert admitted.reused_kv_bytes == n * engine._runner.memory.pages.bytes_per_position
    slots = engine._runner.memory.slots
    assert admitted.copied_state_bytes == slots.state_bytes + slots.window_bytes
    assert len(run.passes[0].token_ids) == len(" Then")
    assert run.passes[0].start_position == n
    assert tokens(run) == tokens(alone(ask(TEXT + " Then")))


def test_two_turns_of_a_talk_prefill_only_what_is_new(model, tokenizer, alone):
    """llama.cpp 24055: checkpoints at the end of a turn were always invalid, and every turn read everything again."""
    opening, drawn = "A fox came. ", {"temperature": 1.0}
    # A reply that is text: half of what the random model says is no UTF-8, and would come back as other tokens.
    replies = (alone(ask(opening, 3, seed=seed, **drawn)) for seed in range(100))
    seed = next(run.header.sampling.seed for run in replies if tokenizer.encode(run.text) == tokens(run))
    engine = new_engine(model, tokenizer)
    (first,) = serve(engine, [ask(opening, 3, serving=SERVINGS["prefix"], seed=seed, **drawn)])
    talk = opening + first.text
    (second,) = serve(engine, [ask(talk + " And?", serving=SERVINGS["prefix"])])
    (admitted,) = (e for e in second.events if isinstance(e, Admitted))
    assert admitted.reused_positions == len(first.header.prompt_tokens) + 3 - 1
    assert tokens(second) == tokens(alone(ask(talk + " And?")))


def test_a_shared_beginning_gets_a_checkpoint_where_the_prompts_part(model, tokenizer, alone):
    """vllm 51250: with checkpoints at ends only, a system prompt with other questions behind it never hits."""
    engine = new_engine(model, tokenizer)
    questions = [ask(TEXT[:60] + tail, serving=SERVINGS["prefix"]) for tail in ("Who?", "Is it?", "And now?")]
    reused = []
    for question in questions:
        (run,) = serve(engine, [question])
        reused += [e.reused_positions for e in run.events if isinstance(e, Admitted)]
        assert tokens(run) == tokens(alone(question))
    assert reused == [0, 0, 60]


def test_the_same_prompt_word_for_word_is_a_hit_from_the_third_time_on(model, tokenizer, alone):
    """The second time shows that it comes again, and leaves a checkpoint before its last token."""
    engine, reused = new_engine(model, tokenizer), []
    for _ in range(4):
        (run,) = serve(engine, [ask(TEXT, serving=SERVINGS["prefix"])])
        reused += [e.reused_positions for e in run.events if isinstance(e, Admitted)]
        assert tokens(run) == tokens(alone(ask(TEXT)))
    n = len(tokenizer.encode(TEXT))
    assert reused == [0, 0, n - 1, n - 1]


def test_checkpoints_give_way_when_sequences_need_their_memory(model, tokenizer, alone):
    engine = new_engine(model, tokenizer, Policy(max_running=3), n_slots=3, n_positions=256)
    for i in range(4):
        request = ask(TEXT[i * 7 : i * 7 + 50], serving=SERVINGS["prefix"])
        (run,) = serve(engine, [request])
        assert tokens(run) == tokens(alone(request))
    requests = [ask(TEXT[i : i + 60], 10) for i in range(3)]
    for run, request in zip(serve(engine, requests), requests, strict=True):
        assert tokens(run) == tokens(alone(request))


def test_what_recomputes_holds_nothing_between_its_passes(model, tokenizer):
    engine = new_engine(model, tokenizer)
    (run,) = serve(engine, [ask(TEXT[:20], 5, serving=SERVINGS["recomputed"])])
    assert [len(p.token_ids) for p in run.passes] == [20, 21, 22, 23, 24]
    assert {p.start_position for p in run.passes} == {0}
    assert {(p.positions_held, p.kv_bytes_held, p.state_bytes_held) for p in run.passes} == {(0, 0, 0)}
    assert [p.phase for p in run.passes] == ["prefill"] + ["decode"] * 4


def test_every_step_leaves_a_row_that_adds_up(model, tokenizer):
    engine = new_engine(model, tokenizer, Policy(max_running=2))
    runs = serve(engine, [ask(TEXT[:n], 4) for n in (10, 20, 30)])
    rows = engine.steps.since(0)
    assert [row.number for row in rows] == list(range(len(rows)))
    for run in runs:
        shares = [share for row in rows for share in row.shares if share.ticket == run.header.ticket]
        assert [share.n_tokens for share in shares] == [len(p.token_ids) for p in run.passes]
        assert sum(share.emitted for share in shares) == 4
    assert any(row.waiting for row in rows)
    assert all(row.pages_used <= row.pages_total and row.start_ns <= row.end_ns for row in rows)


asks = st.tuples(
    st.integers(0, 60), st.integers(1, 40), st.integers(1, 10), st.sampled_from(sorted(SERVINGS)), st.integers(0, 2)
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(asks, min_size=1, max_size=7),
    st.sampled_from(["continuous", "decode_first", "prefill_first", "static"]),
    st.integers(1, 4),
    st.integers(1, 100),
    st.none() | st.integers(1, 30),
    st.integers(5, 14),
    st.sets(st.integers(0, 6), max_size=2),
)
def test_any_mix_in_a_tiny_pool_leaks_nothing_starves_nobody_and_changes_no_answer(
    model, tokenizer, alone, mix, name, running, budget, chunk, n_pages, cancelled
):
    requests = [
        ask(TEXT[at : at + n], new, serving=SERVINGS[serving], temperature=0.5 * hot if serving != "draft model" else 0)
        for at, n, new, serving, hot in mix
    ]
    engine = new_engine(
        model,
        tokenizer,
        Policy(name, running, budget, chunk),
        n_slots=running + 1,
        n_positions=16 * n_pages,
        drafts=True,
    )
    cancel = [i for i in cancelled if i < len(requests)]
    runs = serve(engine, requests, cancel=cancel)
    for i, (run, request) in enumerate(zip(runs, requests, strict=True)):
        expected = tokens(alone(request))
        assert run.end is not None
        if i in cancel and run.end.reason == "cancelled":
            assert tokens(run) == expected[: len(run.emissions)]
        else:
            assert tokens(run) == expected
    engine._runner.prefixes.clear()
    memory = engine._runner.memory
    assert memory.pages.n_free == memory.pages.n_pages
    assert memory.slots.n_free == memory.slots.n_slots
    assert list(memory.holdings) == []


def test_a_ticket_is_given_once_whichever_engine_of_the_process_gives_it(model, tokenizer):
    # A variant in fewer bits is an engine of its own, and its rows stand in the same batch table: with numbers that
    # each engine counted for itself, a learner was shown somebody else's row as their own.
    engines = [new_engine(model, tokenizer, Policy()) for _ in range(2)]
    given = [run.header.ticket for engine in engines for run in serve(engine, [ask("abc", 2), ask("abd", 2)])]
    assert len(set(given)) == 4
