"""Real runs of a real model: the laws of the course, the bytes held, the same answers however they are asked."""

from __future__ import annotations

import pytest

from engine import Engine, Request, Run, SamplingParams
from engine.account import cost, record_file
from engine.account.metrics import timings
from engine.loop.model_folder import BUNDLED

PROMPT = "Once upon a time, there was a"


@pytest.fixture(scope="module", params=["small", "story"])
def engine(request, small_model_folder):
    folder = small_model_folder if request.param == "small" else BUNDLED / "story"
    with Engine.load(folder, threads=1) as loaded:
        yield loaded


def ask(prompt=PROMPT, new=10, **settings):
    return Request(prompt, SamplingParams(max_new_tokens=new, ignore_eos=True, **settings))


def tokens(run: Run) -> list[int]:
    return [emission.token.id for emission in run.emissions]


def test_law_1_passes_are_one_prefill_and_a_decode_for_each_further_token(engine):
    for new in (1, 2, 10):
        run = engine.run(ask(new=new))
        assert [p.phase for p in run.passes] == ["prefill"] + ["decode"] * (new - 1)
        assert [len(p.emitted) for p in run.passes] == [1] * new
        assert len(run.passes[0].token_ids) == len(run.header.prompt_tokens)


def test_law_2_the_last_sampled_token_is_never_fed_back(engine):
    run = engine.run(ask(new=7))
    assert run.passes[-1].positions_held == len(run.header.prompt_tokens) + 7 - 1
    fed = [i for p in run.passes for i in p.token_ids]
    assert fed == [t.id for t in run.header.prompt_tokens] + tokens(run)[:-1]


def test_law_5_time_to_first_token_and_end_to_end_add_up(engine):
    t = timings(engine.run(ask(new=12)))
    assert t.ttft_ns == t.queue_ns + t.prefill_ns
    assert t.e2e_ns == t.ttft_ns + sum(t.itl_ns)
    assert min(t.itl_ns) > 0


def test_laws_3_and_4_the_bytes_on_the_record_are_the_bytes_in_memory(engine):
    """The formulas know only the shape; the memory knows only its tensors."""
    memory, shape = engine._runner.memory, engine.shape
    assert cost.kv_bytes_per_position(shape) == memory.pages.bytes_per_position
    assert cost.recurrent_state_bytes(shape) == memory.slots.state_bytes
    assert cost.window_bytes(shape) == memory.slots.window_bytes
    run = engine.run(ask(new=5))
    assert {p.state_bytes_held for p in run.passes} == {memory.slots.state_bytes}
    assert [p.kv_bytes_held for p in run.passes] == [
        p.positions_held * memory.pages.bytes_per_position for p in run.passes
    ]


def test_law_6_the_weights_read_are_those_that_the_model_holds_and_a_row_a_token(engine):
    model = engine._runner.model
    assert cost.total_parameters(engine.shape) == engine.shape.parameters
    for p in engine.run(ask(new=2)).passes:
        rows = len(p.token_ids) * model.embedding.nbytes // len(model.embedding)
        untied = 0 if engine.shape.tie_word_embeddings else model.embedding.nbytes
        assert p.weight_bytes_read == engine.shape.weight_bytes - untied + rows


def test_the_odds_of_every_position_are_probabilities_with_the_choice_among_them(engine):
    for settings in ({}, {"temperature": 0.8, "seed": 4}, {"temperature": 1.2, "top_k": 20, "top_p": 0.9}):
        for emission in engine.run(ask(**settings)).emissions:
            chosen = [c for c in emission.candidates if c.token.id == emission.token.id]
            assert len(chosen) == 1
            assert chosen[0].sampled > 0
            models = [c.model for c in emission.candidates[:10]]
            assert models == sorted(models, reverse=True)
            assert 0 < sum(c.model for c in emission.candidates) < 1.00001


def test_the_same_seed_gives_the_same_tokens_and_another_seed_others(engine):
    first, again, other = (tokens(engine.run(ask(new=30, temperature=1.0, seed=s))) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_worker_serves_several_at_once_as_if_each_were_alone(engine):
    asked = [ask("Tom", 8), ask("A cat", 8, temperature=0.9, seed=2), ask(PROMPT, 8)]
    alone = [tokens(engine.run(request)) for request in asked]
    memory = engine._runner.memory
    logs = []
    engine.start()
    try:
        logs = [engine.submit(request) for request in asked * 3]
        assert all(log.wait(60) for log in logs)
    finally:
        assert [tokens(log.run) for log in logs] == alone * 3
    memory.check_integrity()
    assert list(memory.holdings) == []
    for log in logs:
        record_file.check(log.run)


def test_the_record_names_model_machine_and_kernels(engine):
    header = engine.run(ask(new=1)).header
    assert header.model == engine.shape
    assert header.device.threads == 1
    assert header.device.kernels
    assert header.prompt == PROMPT


def test_odd_text_goes_through_and_comes_back(engine):
    for prompt in ("\x00\x07\x1b[31m\u202e", "🦊" * 10, "<b>&amp;</b>", " ", "e\u0301"):
        run = engine.run(ask(prompt, new=2))
        assert run.header.prompt == prompt
        assert record_file.loads(record_file.dumps(run)) == run
