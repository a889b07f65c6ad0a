"""Runs that several engines serve, in one process and without Ray: the log is one engine's, token for token.

The engines are real and small; only the transport is ours, so that a test can lose an engine at any message.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.account import cost
from engine.account.record import Continued, Run, Sampling, Serving, Transferred
from engine.account.record_file import dumps, loads
from engine.account.work import work
from engine.cluster.clocks import Reading, offset_ns
from engine.cluster.journal import Journal
from engine.cluster.messages import Ask, Message, Parcel
from engine.cluster.relay import MAX_LOSSES, EngineLost, Pools, Relay
from engine.cluster.share import Share
from engine.cluster.start import _token_hint
from engine.cluster.steps import ClusterSteps, Tickets
from engine.loop.engine import Engine
from engine.loop.request import Request, RequestError
from engine.loop.run_log import Bell, RunLog
from tests.engine.small_model import write_small_model

PROMPT = "seventeen and more tokens"
SAMPLED = Sampling(temperature=1.0, seed=3, max_new_tokens=20, ignore_eos=True)
LONG = Sampling(temperature=1.0, seed=3, max_new_tokens=900, ignore_eos=True)
"""So long that its record takes many messages, on a fast machine, too."""
GREEDY = Sampling(max_new_tokens=20, ignore_eos=True)

LOSSES = st.lists(st.integers(0, 6), max_size=3)
"""After how many messages an engine is lost, call by call."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_small_model(tmp_path_factory.mktemp("model"), context_length=1024)


@pytest.fixture(scope="module")
def engines(folder):
    loaded = [Engine.load(folder, threads=1) for _ in range(3)]
    for engine in loaded[1:]:
        engine.start()
    yield loaded
    for engine in loaded:
        engine.close()


class ScriptedPool:
    """One engine; loses it after as many messages as the script says, call by call, and not at all after the last."""

    def __init__(self, name: str, engine: Engine, script: list[int] | None = None, store: dict | None = None) -> None:
        store = {} if store is None else store
        self.script = script or []
        self.share = Share(name, engine, lambda one: store.setdefault(len(store), one) and len(store) - 1, store.pop)

    async def serve(self, ask: Ask) -> AsyncGenerator[Message, None]:
        left = self.script.pop(0) if self.script else None
        async for message in self.share.serve(ask):
            if left == 0:
                raise EngineLost("killed by the script")
            left = None if left is None else left - 1
            yield message


def relayed(pools: Pools, sampling: Sampling, serving: Serving = Serving()) -> Run:  # noqa: B008
    arrived = Reading.now()
    log = RunLog("run", Bell(), lambda: None)
    relay = Relay(Request(PROMPT, sampling, serving=serving), Journal(log, arrived.ns, {256}, Tickets()), pools,
                  arrived, in_lane=False)  # fmt: skip
    asyncio.run(relay.run())
    relay.accepted.result(0)
    return loads(dumps(log.run))  # as strictly as a saved record is read


def tokens(run: Run) -> list[int]:
    return [emission.token.id for emission in run.emissions]


@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_two_pools_give_what_one_engine_gives_and_the_record_says_what_moved(engines, sampling):
    alone = engines[0].run(Request(PROMPT, sampling))
    store: dict = {}
    pools = Pools(ScriptedPool("prefill/a", engines[1], store=store), ScriptedPool("decode/b", engines[2], store=store))
    run = relayed(pools, sampling)
    assert tokens(run) == tokens(alone)
    assert [one.candidates for one in run.emissions] == [one.candidates for one in alone.emissions]
    assert [one.phase for one in run.passes] == [one.phase for one in alone.passes]
    (moved,) = [event for event in run.events if isinstance(event, Transferred)]
    n, shape = len(run.header.prompt_tokens), run.header.model
    assert (moved.positions, moved.sender, moved.receiver) == (n, "prefill/a", "decode/b")
    assert moved.kv_bytes == cost.kv_bytes(shape, n) == run.passes[0].kv_bytes_held
    assert moved.state_bytes == cost.recurrent_state_bytes(shape)
    assert moved.window_bytes == cost.window_bytes(shape)
    assert run.passes[0].end_ns == moved.start_ns < moved.at_ns <= run.passes[1].start_ns
    assert 0 < moved.fetch_ns < moved.at_ns - moved.start_ns
    assert not store, "what was handed over stays nowhere"


@settings(max_examples=15, deadline=None)
@given(
    script=st.lists(st.integers(0, 6), max_size=3), split=st.booleans(), second=st.lists(st.integers(0, 6), max_size=2)
)
def test_wherever_engines_are_lost_no_token_is_lost_and_none_comes_twice(engines, script, second, split):
    alone = engines[0].run(Request(PROMPT, SAMPLED))
    store: dict = {}
    pools = Pools(
        ScriptedPool("first/a", engines[1], script, store),
        ScriptedPool("second/b", engines[2], second, store) if split else None,
    )
    run = relayed(pools, SAMPLED)
    assert tokens(run) == tokens(alone)
    assert run.end.reason == "length"
    # Positions that were computed before are computed again after a loss, and only then.
    continued = [event for event in run.events if isinstance(event, Continued)]
    assert bool(work(run).recomputed_positions) == any(event.tokens for event in continued)


def test_a_run_that_lost_its_engine_says_who_went_on_from_where(engines):
    run = relayed(Pools(ScriptedPool("engines/a", engines[1], [3])), LONG)
    (continued,) = [event for event in run.events if isinstance(event, Continued)]
    before = [one for one in run.passes if one.end_ns <= continued.at_ns]
    assert continued.tokens == sum(len(one.emitted) for one in before) > 0
    assert (continued.lost, continued.engine) == ("engines/a", "engines/a")
    # In one pass, or in chunks where the engine still decodes what the lost one had been asked for.
    again = [one for one in run.passes[len(before) :] if one.phase == "prefill"]
    assert run.passes[len(before)] is again[0] and again[0].start_position == 0
    assert sum(len(one.token_ids) for one in again) == len(run.header.prompt_tokens) + continued.tokens


def test_engines_that_are_lost_again_and_again_are_given_up_with_a_reason(engines):
    pool = ScriptedPool("engines/a", engines[1], [3] + [0] * (MAX_LOSSES + 1))
    run = relayed(Pools(pool), LONG)
    assert (run.end.code, "lost" in run.end.message) == ("engine_lost", True)
    assert run.emissions, "what was shown stays"


def test_memory_that_was_lost_on_the_way_is_computed_again(engines):
    alone = engines[0].run(Request(PROMPT, SAMPLED))

    class Forgetful(ScriptedPool):
        async def serve(self, ask: Ask) -> AsyncGenerator[Message, None]:
            async for message in super().serve(ask):
                lost, self.script = isinstance(message, Parcel) and not self.script, [99]
                yield Parcel((-1,)) if lost else message

    store: dict = {}
    pools = Pools(Forgetful("prefill/a", engines[1], store=store), ScriptedPool("decode/b", engines[2], store=store))
    assert tokens(relayed(pools, SAMPLED)) == tokens(alone)


def test_a_run_without_a_cache_stays_where_its_prompt_was_computed(engines):
    serving = Serving(cache="recomputed")
    alone = engines[0].run(Request(PROMPT, GREEDY, serving=serving))
    run = relayed(Pools(ScriptedPool("prefill/a", engines[1]), ScriptedPool("decode/b", engines[2])), GREEDY, serving)
    assert tokens(run) == tokens(alone)
    assert not [event for event in run.events if isinstance(event, Transferred)]


def test_what_an_engine_refuses_is_refused_in_its_words(engines):
    with pytest.raises(RequestError, match="this model holds"):
        relayed(Pools(ScriptedPool("engines/a", engines[1])), Sampling(max_new_tokens=5000))


def test_a_cluster_that_asks_for_a_token_says_what_to_set():
    """Ray 2.60 then says "Failed to connect", and the reason only in the causes of it."""
    with pytest.raises(ConnectionError) as failed:
        try:
            raise RuntimeError("RPC error: InvalidAuthToken: Authentication token is missing or incorrect.")
        except RuntimeError as cause:
            raise ConnectionError("Failed to connect to Ray cluster") from cause
    assert "RAY_AUTH_MODE=token" in _token_hint(failed.value)
    assert _token_hint(ConnectionError("Failed to connect to Ray cluster")) == ""


def test_another_machines_clock_is_brought_to_ours():
    here, there = "start-1", "start-2"
    # 7 ms ahead of ours; 2 ms on the way there, 3 ms back, 10 ms between their readings.
    arrived, sent = Reading(there, 1_009), Reading(there, 1_019)
    assert offset_ns(Reading(here, 1_000), arrived, sent, Reading(here, 1_015)) == pytest.approx(-7, abs=1)
    assert offset_ns(Reading(here, 1_000), Reading(here, 1_002), Reading(here, 1_003), Reading(here, 1_005)) == 0


def test_the_steps_of_all_engines_are_one_list_in_which_a_run_keeps_its_ticket(engines):
    tickets = Tickets()
    steps = ClusterSteps(Reading.now().ns, tickets)
    shares = [Share(name, engine, None, None) for name, engine in zip("ab", engines[1:], strict=True)]
    cursors = {share.name: share.tell({}).next_step for share in shares}
    for share in shares:
        share.engine.run(Request(PROMPT, GREEDY))
        told = share.tell(cursors)
        steps.add(told.engine, told.rows, told.opened.ns)
    rows = steps.since(0)
    assert [row.number for row in rows] == list(range(steps.count)) == list(range(40))
    assert [{one.ticket for row in rows if row.engine == name for one in row.shares} for name in "ab"] == [{1}, {2}]
    assert rows[19].end_ns < rows[20].start_ns
