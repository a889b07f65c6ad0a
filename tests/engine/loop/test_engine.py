"""The loop with a model that needs no weights: order, cancelling, failing, closing, and what is written down."""

import threading
import time

import numpy as np
import pytest

from engine.account import record_file
from engine.account.cost import Rates
from engine.account.metrics import timings
from engine.account.record import End, Error, Header, Queued
from engine.loop.policy import Policy
from engine.loop.request import Request, RequestError, SamplingParams
from tests.engine.builders import TINY
from tests.engine.loop.doubles import END, MockRunner, mock_engine


def ask(prompt="hello", new=6, **settings):
    return Request(prompt, SamplingParams(max_new_tokens=new, **settings))


def tokens(run):
    return [emission.token.id for emission in run.emissions]


@pytest.fixture
def gate():
    """A runner that stops before each step until the test lets it go on."""

    class Gate:
        def __init__(self):
            self.reached, self.go = threading.Semaphore(0), threading.Semaphore(0)
            self.runner = MockRunner(self.wait)

        def wait(self, _plan):
            self.reached.release()
            assert self.go.acquire(timeout=10)

        def step(self):
            self.go.release()
            assert self.reached.acquire(timeout=10)

    return Gate()


def test_ten_new_tokens_are_one_prefill_and_nine_decodes():
    run = mock_engine().run(ask("12345678", new=10))
    assert [p.phase for p in run.passes] == ["prefill"] + ["decode"] * 9
    assert [len(p.token_ids) for p in run.passes] == [8] + [1] * 9
    assert [p.number for p in run.passes] == list(range(10))
    assert [p.start_position for p in run.passes] == [0, *range(8, 17)]
    assert run.passes[-1].positions_held == 8 + 10 - 1
    assert [e.position for e in run.emissions] == list(range(8, 18))
    assert run.end == End(len(run.events) - 1, "length", run.end.at_ns)
    record_file.check(run)


def test_what_a_decode_pass_reads_in_is_what_the_pass_before_gave_out():
    run = mock_engine().run(ask())
    for earlier, later in zip(run.passes, run.passes[1:], strict=False):
        assert later.token_ids == [earlier.emitted[0].token.id]


def test_the_log_begins_with_header_and_place_in_the_queue_before_anything_is_computed():
    engine = mock_engine()
    first, second = engine.submit(ask("first")), engine.submit(ask("second"))
    header, queued = second.since(0)
    assert isinstance(header, Header)
    assert header.prompt == "second"
    assert [t.raw for t in header.prompt_tokens] == [bytes([b]) for b in b"second"]
    assert (header.evidence, len(header.run_id)) == ("measured", 32)
    assert isinstance(queued, Queued)
    assert queued.ahead == 1
    assert first.since(1)[0].ahead == 0


def test_instants_are_in_order_and_law_5_holds():
    run = mock_engine().run(ask(new=20))
    instants = [t for p in run.passes for t in (p.start_ns, p.end_ns)] + [run.end.at_ns]
    assert instants == sorted(instants)
    assert run.events[1].at_ns <= instants[0]
    t = timings(run)
    assert t.ttft_ns == t.queue_ns + t.prefill_ns
    assert t.e2e_ns == t.ttft_ns + sum(t.itl_ns)


def test_each_pass_carries_the_costs_of_the_formulas():
    rates = Rates.of(TINY)
    for p in mock_engine().run(ask("hello")).passes:
        n = len(p.token_ids)
        assert p.weight_bytes_read == rates.weight_bytes(n, 1)
        assert p.operations == rates.operations(p.start_position, n, 1)
        assert p.kv_bytes_held == p.kv_bytes_read == p.positions_held * rates.kv_per_position
        assert p.kv_bytes_written == n * rates.kv_per_position
        assert p.state_bytes_held == p.state_bytes_read == p.state_bytes_written == rates.state
        assert p.window_bytes_held == rates.window
        assert p.shared_by == 1


@pytest.mark.parametrize("settings", [{}, {"temperature": 1.0, "seed": 3}, {"temperature": 2.0, "top_k": 5}])
@pytest.mark.parametrize("max_running", [1, 3])
def test_among_others_a_request_gets_exactly_what_it_gets_alone(max_running, settings):
    prompts = ["a", "bb", "the same", "the same", "something longer"]
    alone = [tokens(mock_engine().run(ask(prompt, **settings))) for prompt in prompts]
    engine = mock_engine(policy=Policy(max_running=max_running))
    engine.start()
    logs = [engine.submit(ask(prompt, **settings)) for prompt in prompts]
    assert all(log.wait(10) for log in logs)
    engine.close()
    assert [tokens(log.run) for log in logs] == alone
    assert alone[2] == alone[3]
    for log in logs:
        record_file.check(log.run)


def test_requests_that_share_a_step_say_so_and_share_its_weights():
    engine = mock_engine(policy=Policy(max_running=2))
    logs = [engine.submit(ask("abc", new=2)), engine.submit(ask("defgh", new=2))]
    while not all(log.ended for log in logs):
        engine.step()
    first, second = (log.run.passes[0] for log in logs)
    assert first.shared_by == second.shared_by == 2
    assert first.weight_bytes_read == second.weight_bytes_read == Rates.of(TINY).weight_bytes(8, 2)


def test_a_waiting_request_learns_when_it_moves_up():
    engine = mock_engine()
    logs = [engine.submit(ask(new=1)) for _ in range(3)]
    while engine.step():
        pass
    assert [e.ahead for e in logs[2].run.events if isinstance(e, Queued)] == [2, 1, 0]
    assert [e.ahead for e in logs[0].run.events if isinstance(e, Queued)] == [0]
    # Once it asked whether that was longer than the first request waited, which on a busy machine it need not be.
    passes = [timings(log.run).prefill_ns for log in logs[:2]]
    assert timings(logs[2].run).queue_ns >= sum(passes), "both others ran while it waited"


def test_a_small_budget_cuts_prompts_and_only_the_last_chunk_emits():
    engine = mock_engine(policy=Policy(token_budget=3))
    run = engine.run(ask("12345678", new=3))
    assert [(p.phase, p.start_position, len(p.token_ids), len(p.emitted)) for p in run.passes] == [
        ("prefill", 0, 3, 0),
        ("prefill", 3, 3, 0),
        ("prefill", 6, 2, 1),
        ("decode", 8, 1, 1),
        ("decode", 9, 1, 1),
    ]
    assert tokens(run) == tokens(mock_engine().run(ask("12345678", new=3)))
    assert run.passes[0].weight_bytes_read == Rates.of(TINY).weight_bytes(3, 0)
    record_file.check(run)


class _Ender(MockRunner):
    """Ends the text with its third new token."""

    def logits(self, tokens):
        row = super().logits(tokens)
        row[END] = 99.0 if len(tokens) == 7 else -50.0
        return row


def test_end_of_text_is_emitted_and_ends_the_run():
    run = mock_engine(_Ender()).run(ask("hello", new=10))
    assert run.end.reason == "stop"
    assert len(run.passes) == 3
    assert tokens(run)[-1] == END


def test_end_of_text_can_be_ignored_so_that_passes_can_be_counted():
    run = mock_engine(_Ender()).run(ask("hello", new=10, ignore_eos=True))
    assert run.end.reason == "length"
    assert len(run.emissions) == 10


def test_end_of_text_as_the_last_allowed_token_is_a_stop():
    assert mock_engine(_Ender()).run(ask("hello", new=3)).end.reason == "stop"


def test_a_running_request_stops_within_one_step(gate):
    engine = mock_engine(gate.runner)
    engine.start()
    log = engine.submit(ask(new=50))
    assert gate.reached.acquire(timeout=10)
    gate.step()
    log.cancel()
    gate.go.release()
    assert log.wait(10)
    assert len(log.run.passes) == 2
    assert log.run.end.reason == "cancelled"
    assert gate.runner.owners == set()
    engine.close()


def test_stop_pressed_at_once_and_stop_while_waiting(gate):
    engine = mock_engine(gate.runner)
    running, waiting, last = (engine.submit(ask(name, new=2)) for name in ("running", "waiting", "last"))
    waiting.cancel()
    engine.start()
    assert gate.reached.acquire(timeout=10)
    assert waiting.wait(10)
    assert waiting.run.passes == []
    assert waiting.run.end.reason == "cancelled"
    assert [e.ahead for e in last.run.events if isinstance(e, Queued)] == [2, 1]
    for _ in range(4):
        gate.go.release()
    assert running.wait(10)
    assert last.wait(10)
    assert len(last.run.passes) == 2
    engine.close()


def test_cancelling_what_has_ended_or_never_was_does_nothing():
    engine = mock_engine()
    log = engine.submit(ask(new=1))
    while engine.step():
        pass
    before = log.run
    log.cancel()
    assert engine.cancel("nobody") is False
    engine.step()
    assert log.run == before


def test_a_failing_step_ends_its_run_with_a_message_and_the_next_run_is_fine(caplog):
    def explode(plan):
        if any(part.sequence.n_new == 2 and part.sequence.tokens[0] == ord("b") for part in plan.parts):
            raise RuntimeError("kernel on fire")

    runner = MockRunner(explode)
    engine = mock_engine(runner)
    engine.start()
    logs = [engine.submit(ask(prompt)) for prompt in ("good", "bad", "good")]
    assert all(log.wait(10) for log in logs)
    engine.close()
    first, bad, last = (log.run for log in logs)
    assert isinstance(bad.end, Error)
    assert bad.end.code == "engine_failed"
    assert "kernel on fire" not in bad.end.message
    assert "kernel on fire" in caplog.text
    assert len(bad.passes) == 2
    assert tokens(first) == tokens(last)
    assert runner.owners == set()
    record_file.check(bad)


def test_logits_that_are_not_numbers_fail_only_their_own_request():
    class Sick(MockRunner):
        def logits(self, tokens):
            row = super().logits(tokens)
            return np.full_like(row, np.nan) if tokens[0] == ord("s") else row

    engine = mock_engine(Sick(), policy=Policy(max_running=2))
    sick, well = engine.submit(ask("sick")), engine.submit(ask("well"))
    while engine.step():
        pass
    assert isinstance(sick.run.end, Error)
    assert "not finite" in sick.run.end.message
    assert tokens(well.run) == tokens(mock_engine().run(ask("well")))


def test_closing_ends_what_lives_and_refuses_what_comes(gate):
    engine = mock_engine(gate.runner)
    engine.start()
    running, waiting = engine.submit(ask(new=50)), engine.submit(ask())
    assert gate.reached.acquire(timeout=10)
    gate.go.release(50)
    engine.close()
    engine.close()
    assert running.run.end.reason == waiting.run.end.reason == "cancelled"
    assert engine.batch_table() == []
    with pytest.raises(RequestError, match="shutting down"):
        engine.submit(ask())


def test_the_same_id_twice_at_a_time_is_refused():
    engine = mock_engine()
    named = Request("x", SamplingParams(), request_id="mine")
    log = engine.submit(named)
    with pytest.raises(RequestError) as caught:
        engine.submit(named)
    assert caught.value.code == "duplicate_request_id"
    while engine.step():
        pass
    assert log.run_id == log.run.header.run_id == "mine"
    assert engine.run(named).end.reason == "length"


def test_stopping_a_finished_run_does_not_stop_a_later_one_with_its_id():
    engine = mock_engine()
    named = Request("x", SamplingParams(), request_id="mine")
    earlier = engine.submit(named)
    while engine.step():
        pass
    later = engine.submit(named)
    earlier.cancel()
    while engine.step():
        pass
    assert later.run.end.reason == "length"


def test_what_does_not_fit_is_refused_before_it_enters_the_queue():
    engine = mock_engine()
    with pytest.raises(RequestError, match="at most 4 new tokens"):
        engine.submit(ask("x" * 60, new=5))
    assert engine.batch_table() == []
    assert len(engine.run(ask("x" * 60, new=4)).emissions) == 4


def test_a_follower_that_hangs_does_not_delay_the_steps():
    engine, release = mock_engine(), threading.Event()
    engine.start()
    log = engine.submit(ask("x", new=60))
    log.subscribe(lambda log: release.wait(20))
    started = time.perf_counter()
    assert log.wait(10)
    assert time.perf_counter() - started < 10
    assert len(log.run.passes) == 60
    release.set()
    engine.close()


def test_the_table_can_be_read_in_the_middle_of_a_step(gate):
    engine = mock_engine(gate.runner)
    engine.start()
    first, second = engine.submit(ask(new=2)), engine.submit(ask(new=1))
    assert gate.reached.acquire(timeout=10)
    gate.step()
    running, waiting = engine.batch_table()
    assert (running.phase, running.new_tokens, running.positions_held) == ("decode", 1, 5)
    assert (waiting.phase, waiting.new_tokens) == (None, 0)
    gate.go.release(9)
    assert first.wait(10)
    assert second.wait(10)
    engine.close()


def test_two_callers_without_a_worker_both_get_their_own_answer():
    engine, answers = mock_engine(), {}

    def call(prompt):
        answers[prompt] = tokens(engine.run(ask(prompt, new=20)))

    threads = [threading.Thread(target=call, args=(prompt,)) for prompt in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert answers == {prompt: tokens(mock_engine().run(ask(prompt, new=20))) for prompt in ("one", "two")}


def test_without_recording_the_tokens_are_the_same_and_no_pass_is_written():
    runner = MockRunner()
    run = mock_engine(runner, record=False).run(ask(new=5))
    assert run.passes == []
    assert run.end.reason == "length"
    assert len(runner.plans) == 5


def test_the_engine_says_which_model_it_serves():
    assert mock_engine().models == {"tiny": TINY}
