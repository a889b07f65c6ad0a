"""The load generator: what it plans, what it sends, and that every request is accounted for."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from engine.__main__ import app
from engine.account.record import Admitted
from engine.account.record_file import loads
from engine.account.workload import SCHEMA, Ask, Workload, write_workload
from engine.loop.arrivals import BadLoad
from engine.loop.engine import Engine
from engine.loop.model_folder import find_model
from engine.model.tokenizer import Tokenizer
from engine.serve import server
from engine.serve.client import EngineClient
from engine.serve.launch import EngineProcess
from engine.serve.load import run_load
from engine.serve.load_plan import LoadOptions, LoadPlan
from engine.serve.load_prompts import Prompts
from tests.engine.serve.conftest import PATIENCE_S, engine_server, serving, until
from tests.engine.serve.scripted import ScriptedEngine

CONTEXT = 2048


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(find_model("story"))


@pytest.fixture(scope="module")
def planned(tokenizer):
    prompts = Prompts(tokenizer.encode)

    def make(**options) -> LoadPlan:
        return LoadPlan(LoadOptions(**options), prompts, CONTEXT)

    return make


@pytest.fixture(scope="module")
def real_url() -> Iterator[str]:
    with Engine.load("story") as engine, serving(server.build(lambda: engine, sweep_s=0.02)) as url:
        with EngineClient(url) as client:
            until(lambda: client.health().status == "ready")
        yield url


@pytest.fixture
def real(real_url) -> Iterator[EngineClient]:
    with EngineClient(real_url) as client:
        yield client


class TestPlan:
    @pytest.mark.parametrize("lengths", ["chat", "code", "33,7"])
    def test_a_seed_gives_the_same_requests_to_the_letter(self, planned, lengths):
        def everything(seed):
            plan = planned(rate=5, requests=20, lengths=lengths, cancel=0.3, seed=seed)
            return [(ask, plan.prompt(ask)) for ask in plan.asks]

        assert everything(7) == everything(7)
        assert everything(7) != everything(8)

    def test_every_prompt_has_exactly_the_tokens_that_were_drawn(self, planned, tokenizer):
        plan = planned(users=1, requests=60, lengths="chat")
        for ask in plan.asks:
            assert len(tokenizer.encode(plan.prompt(ask))) == ask.n_prompt
            assert ask.n_prompt + ask.n_new <= CONTEXT
        assert len({ask.n_prompt for ask in plan.asks}) > 30
        assert any(ask.cut for ask in plan.asks) and not all(ask.cut for ask in plan.asks)

    @pytest.mark.parametrize("n", [1, 2, 3, 17, 2000])
    def test_a_prompt_of_any_length_can_be_made_and_is_made_of_words(self, tokenizer, n):
        prompt = Prompts(tokenizer.encode).prompt("key", n)
        assert len(tokenizer.encode(prompt)) == n
        assert prompt == " ".join(prompt.split())

    def test_prefixes_are_shared_by_some_and_the_rest_of_each_prompt_is_its_own(self, planned, tokenizer):
        plan = planned(users=1, requests=12, lengths="60,5", reuse_prefix=True)
        prompts = [tokenizer.encode(plan.prompt(ask)) for ask in plan.asks]
        assert plan.opening_tokens == 30
        assert all(len(ids) == 60 for ids in prompts)
        assert len({tuple(ids[:30]) for ids in prompts}) == 2
        assert len({tuple(ids) for ids in prompts}) == 12

    def test_an_open_loop_has_its_instants_and_a_closed_one_has_none(self, planned):
        timed = planned(rate=10, seconds=5, lengths="8,2", arrivals="constant").asks
        assert [ask.at_ns for ask in timed] == [100_000_000 * place for place in range(1, 51)]
        assert all(ask.at_ns is None for ask in planned(users=2, lengths="8,2").asks)

    def test_a_rate_over_some_seconds_brings_about_as_many_requests_and_none_later(self, planned):
        for arrivals in ("poisson", "bursts"):
            at = [ask.at_ns for ask in planned(rate=50, seconds=40, lengths="8,2", arrivals=arrivals).asks]
            assert 1600 < len(at) < 2400
            assert max(at) <= 40e9

    def test_another_rate_brings_the_same_requests_at_other_times(self, planned):
        slow, fast = (planned(rate=rate, requests=30, lengths="code").asks for rate in (1, 10))
        assert [(a.n_prompt, a.n_new) for a in slow] == [(a.n_prompt, a.n_new) for a in fast]
        assert slow[-1].at_ns > 5 * fast[-1].at_ns

    def test_users_leave_as_often_as_asked_and_before_the_last_token(self, planned):
        asks = planned(users=1, requests=1000, lengths="8,50", cancel=0.2).asks
        leaving = [ask.leaves_after for ask in asks if ask.leaves_after is not None]
        assert 150 < len(leaving) < 250
        assert min(leaving) == 0 and max(leaving) < 50
        assert all(ask.leaves_after is None for ask in planned(users=1, lengths="8,50").asks)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({}, "not both"),
            ({"rate": 1, "users": 1}, "not both"),
            ({"rate": 0}, "above 0"),
            ({"rate": float("inf")}, "above 0"),
            ({"users": 0}, "1 or more"),
            ({"users": 1, "think_s": -1}, "0 seconds or more"),
            ({"rate": 1, "think_s": 1}, "closed loop"),
            ({"users": 1, "requests": 0}, "1 to 20,000"),
            ({"users": 1, "seconds": 0}, "above 0"),
            ({"users": 1, "cancel": 1.5}, "0 to 1"),
            ({"users": 1, "seed": -1}, "seed"),
            ({"users": 1, "arrivals": "never"}, "poisson, constant or bursts"),
            ({"users": 1, "lengths": "poem"}, "chat, code"),
            ({"users": 1, "lengths": "0,5"}, "at least"),
        ],
    )
    def test_what_cannot_be_planned_is_refused_in_words(self, options, said):
        with pytest.raises(BadLoad, match=said):
            LoadOptions(**options)

    def test_a_recorded_workload_is_asked_as_it_was_as_fast_as_wanted_and_cut_to_the_context(self, tokenizer):
        asks = [Ask(0, "a", 8, 3), Ask(10**9, "b", 5, 4, "The dog ran home."), Ask(4 * 10**9, "a", 5000, 5000, "long")]
        recorded = Workload(SCHEMA, "", "", asks)
        options = LoadOptions(workload="class.json", speed=2)
        plan = LoadPlan(options, Prompts(tokenizer.encode), CONTEXT, recorded)
        assert plan.options.open_loop and plan.planned == 3
        assert [(one.at_ns, one.n_prompt, one.n_new, one.cut) for one in plan.asks] == [
            (0, 8, 3, False), (500_000_000, 5, 4, False), (2_000_000_000, 1024, 1024, True),
        ]  # fmt: skip
        prompts = [plan.prompt(one) for one in plan.asks]
        assert prompts[1] == "The dog ran home." and [len(tokenizer.encode(prompts[at])) for at in (0, 2)] == [8, 1024]
        within = LoadOptions(workload="class.json", seconds=0.6, speed=2)
        assert len(LoadPlan(within, Prompts(tokenizer.encode), CONTEXT, recorded).asks) == 2
        for wrong, said in [({"workload": "a", "rate": 1}, "not both"), ({"workload": "a", "speed": 0}, "speed")]:
            with pytest.raises(BadLoad, match=said):
                LoadOptions(**wrong)


def adds_up(result) -> bool:
    whole = result.ran + sum(result.refused.values()) + sum(result.lost.values()) + result.cut
    return result.sent == whole


class TestRealEngine:
    def test_fifty_requests_of_five_users_are_all_answered_in_full(self, real, planned):
        tallies = []
        result = run_load(real, planned(users=5, requests=50, lengths="40,6"), watch=tallies.append)
        assert (result.sent, result.ran, result.refused, result.lost, result.cut) == (50, 50, {}, {}, 0)
        assert tallies[-1] == (50, 50, 0)
        report = result.engine
        assert report.endings == {"length": 50}
        assert (report.work.prompt_positions, report.work.output_tokens) == (50 * 40, 50 * 6)
        assert sum(one.group.n for one in report.by_length) == 50
        assert report.finished.latencies.itl_ns.n == 50 * 5
        assert sum(one.itl_ns.n for one in report.finished.by_shared) == 50 * 5
        # Five users never have more than four others before them.
        assert sum(one.ttft_ns.n for one in report.finished.by_in_flight) == 50
        assert max(one.others.low for one in report.finished.by_in_flight) <= 4
        assert report.throughput.output_tokens_per_s == 300 * 1e9 / result.window_ns

    def test_the_two_clocks_agree_on_the_order_of_things(self, real, planned):
        result = run_load(real, planned(users=2, requests=10, lengths="20,5"))
        seen, told = result.client, result.engine.finished.latencies
        assert seen.ttft_ns.n == told.ttft_ns.n == 10
        assert seen.ttft_ns.mean > told.ttft_ns.mean
        assert seen.e2e_ns.max < result.window_ns
        assert seen.gap_ns.n <= told.itl_ns.n

    def test_steps_of_the_engine_hold_every_token_of_the_test_and_no_other(self, real, planned):
        run_load(real, planned(users=1, requests=2, lengths="10,3"))
        result = run_load(real, planned(users=3, requests=9, lengths="10,3"))
        steps = result.engine.steps
        assert result.steps_missing == 0
        assert steps.tokens.mean * steps.n == pytest.approx(9 * (10 + 3 - 1))

    def test_an_open_loop_sends_at_its_instants_and_says_how_late_it_was(self, real, planned):
        plan = planned(rate=40, requests=20, lengths="12,3", arrivals="bursts")
        result = run_load(real, plan)
        assert (result.sent, result.ran) == (20, 20)
        assert result.client.lag_ns.n == 20
        assert result.client.lag_ns.min >= 0
        # The window opens with the first request, and the last one is never sent before its instant.
        assert result.window_ns > plan.asks[-1].at_ns - plan.asks[0].at_ns - result.client.lag_ns.max

    def test_users_who_leave_are_cancelled_runs_and_no_latency(self, real, planned):
        result = run_load(real, planned(users=4, requests=12, lengths="10,120", cancel=1.0, seed=3))
        assert adds_up(result) and result.ran == 12
        assert result.cancelled_by_plan == 12
        assert result.engine.endings["cancelled"] > 6
        assert result.engine.finished.n == result.engine.endings.get("length", 0)
        assert result.client.ttft_ns.n == result.engine.finished.n

    def test_a_shared_beginning_is_reused_and_not_counted_as_prefill(self, real, planned):
        kept = []
        plan = planned(users=1, requests=16, lengths="100,3", reuse_prefix=True)
        result = run_load(real, plan, keep=kept.append)
        done = result.engine.work
        admitted = [event for run in kept for event in run.events if isinstance(event, Admitted)]
        assert done.reused_positions == sum(event.reused_positions for event in admitted) > 0
        assert done.prompt_positions + done.reused_positions == done.sought_positions == 16 * 100

    def test_the_command_prints_tables_and_json_last_and_saves_every_run(self, real_url, tmp_path):
        saved = tmp_path / "runs.ndjson"
        asked = ["load", "--url", real_url, "--users", "3", "--requests", "7", "--lengths", "9,4", "--save", str(saved)]
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == 0, done.output
        for word in ("by prompt length", "in the step", "goodput", "worst first token", "as this client saw it"):
            assert word in done.stdout
        told = json.loads(done.stdout.splitlines()[-1])
        assert (told["sent"], told["ran"], told["lost"]) == (7, 7, {})
        runs = [loads(line) for line in saved.read_bytes().splitlines()]
        assert sorted(len(run.emissions) for run in runs) == [4] * 7
        assert all(len(run.header.prompt_tokens) == 9 for run in runs)
        assert all(len(emission.candidates) > 1 for run in runs for emission in run.emissions)

    def test_json_alone_is_one_line(self, real_url):
        asked = ["load", "--url", real_url, "--rate", "50", "--requests", "3", "--lengths", "5,2", "--json"]
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["engine"]["finished"]["n"] == 3
        assert done.stdout.count("\n") == 1


class TestTrouble:
    def test_a_full_queue_is_an_answer_and_every_refusal_is_counted(self, planned, monkeypatch):
        monkeypatch.setattr(server, "MAX_WAITING", 3)
        with engine_server(ScriptedEngine(0.05)) as url, EngineClient(url) as client:
            result = run_load(client, planned(rate=1000, requests=30, lengths="8,4", arrivals="constant"))
        assert result.sent == 30 and adds_up(result)
        assert set(result.refused) == {"queue_full"}
        assert result.ran + result.refused["queue_full"] == 30
        assert 4 <= result.ran < 30
        assert result.engine.refused == result.refused["queue_full"]
        assert result.engine.goodput.judged == 30

    def test_an_engine_that_dies_in_mid_test_loses_requests_and_the_result_says_so(self, planned):
        process = EngineProcess([sys.executable, "-m", "tests.engine.serve.scripted", "--step-ms", "5", "--lifeline"])
        try:
            with EngineClient(process.read_url()) as client:
                until(lambda: client.health().status == "ready")
                dies = iter([lambda: None, process.stop])
                plan = planned(users=2, requests=6, lengths="8,20")
                result = run_load(client, plan, watch=lambda tally: next(dies, lambda: None)())
        finally:
            process.stop()
        assert result.sent == 6 and adds_up(result)
        assert result.ran >= 2 and sum(result.lost.values()) >= 3
        assert result.engine.steps is None

    def test_users_stop_when_the_time_is_up_and_nothing_is_lost(self, planned):
        with engine_server(ScriptedEngine(0.01)) as url, EngineClient(url) as client:
            plan = planned(users=2, seconds=0.5, think_s=0.02, lengths="8,3")
            result = run_load(client, plan)
        assert result.planned is None
        assert 2 <= result.sent == result.ran < 200
        assert not result.interrupted

    def test_an_interruption_shows_what_there_is_and_stops_the_runs(self):
        with engine_server(ScriptedEngine(0.02)) as url, EngineClient(url) as client:
            command = [sys.executable, "-m", "engine", "load", "--url", url, "--users", "3", "--lengths", "8,30"]
            asking = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            until(lambda: "length" in client._http.get("/metrics").text, "the first finished run")
            asking.send_signal(signal.SIGINT)
            out, _ = asking.communicate(timeout=PATIENCE_S)
            told = json.loads(out.splitlines()[-1])
            assert asking.returncode == 130
            assert told["interrupted"] and told["ran"] >= 1 and told["cut"] >= 1
            assert told["sent"] == told["ran"] + told["cut"] < told["planned"]
            until(lambda: not client.batch(), "the end of the runs that were under way")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--rate", "1", "--users", "2"], "not both"),
            (["--rate", "-3"], "rate must be"),
            (["--lengths", "poem"], "There are no lengths 'poem'"),
            (["--arrivals", "never"], "poisson, constant or bursts"),
            (["--ttft", "0"], "--ttft"),
            (["--url", "nowhere"], "http://"),
            (["--url", "http://127.0.0.1:9", "--requests", "1"], "does not answer"),
            (["--url", "http://127.0.0.1:9", "--policy", "static"], "--policy is for"),
        ],
    )
    def test_a_bad_option_is_one_line_and_exit_code_2(self, arguments, said):
        done = CliRunner().invoke(app, ["load", *arguments])
        assert done.exit_code == 2
        assert done.stdout == ""
        assert said in done.stderr
        assert done.stderr.count("\n") == 1

    def test_a_class_is_replayed_from_its_file(self, real_url, tmp_path):
        path = tmp_path / "class-K7QM3X.json"
        asks = [Ask(0, "blue heron", 8, 3), Ask(10**9, "red fox", 12, 2), Ask(10**9, "blue heron", 9, 4)]
        path.write_bytes(write_workload(Workload(SCHEMA, "", "class K7QM3X", asks)))
        asked = ["load", "--url", real_url, "--workload", str(path), "--speed", "10"]
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == 0, done.stderr
        told = json.loads(done.stdout.splitlines()[-1])
        assert told["ran"] == 3 and "class-K7QM3X.json" in done.stdout
        work = told["engine"]["work"]
        assert (work["prompt_positions"], work["output_tokens"]) == (29, 9)
        path.write_bytes(b"{}")
        done = CliRunner().invoke(app, asked)
        assert done.exit_code == 2 and "not a recorded workload" in done.stderr

    def test_records_that_cannot_be_written_are_told_before_anything_is_asked(self, url):
        done = CliRunner().invoke(app, ["load", "--url", url, "--save", "/nowhere/at/all.ndjson"])
        assert done.exit_code == 2
        assert "No such file" in done.stderr

    def test_a_wrong_token_is_told(self):
        with engine_server(ScriptedEngine(), token="right") as url:
            done = CliRunner().invoke(app, ["load", "--url", url, "--token", "wrong", "--requests", "1"])
        assert done.exit_code == 2
        assert "token" in done.stderr


def test_without_an_address_an_engine_is_started_and_ended():
    asked = [sys.executable, "-m", "engine", "load", "--users", "2", "--requests", "4", "--lengths", "8,3", "--json"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["ran"], told["engine"]["evidence"]) == (4, ["measured"])
    assert list(itertools.chain(told["refused"], told["lost"])) == []
