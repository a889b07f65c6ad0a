"""The second runner: what a hand can compute, the laws of the course, and the same record as a real run's."""

import itertools
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.account import cost, record_file
from engine.account.cost import PRESET_SHAPES
from engine.account.metrics import timings
from engine.account.presets import HARDWARE, LINKS, Link
from engine.account.record import Admitted, End, Error, Preempted, Queued, Serving
from engine.account.step_time import Roofline
from engine.loop.arrivals import LENGTHS, Arrival, load
from engine.loop.counted_room import PAGE_SIZE, CountedRoom, DoesNotFit
from engine.loop.policy import Policy
from engine.loop.simulator import Machine, Simulator
from tests.engine.builders import TINY

SHAPE = PRESET_SHAPES["Qwen3.5-0.8B"]
SMALL = msgspec.structs.replace(TINY, context_length=4096)


class Hundreds:
    """A clock for hands: 100 ns a step, 10 more for each token beyond its sequence's first."""

    name, how = "hundreds", "test"

    def ns(self, parts):
        return 100 + 10 * sum(part.n_tokens - 1 for part in parts)


def simulate(arrivals, *, shape=SMALL, n_pages=1000, n_slots=16, policy=None, **more):
    machine = Machine(Hundreds(), CountedRoom(n_pages, n_slots), policy or Policy())
    return Simulator(shape, machine, **more).run(arrivals)


def test_two_requests_by_hand():
    """A: 5 + 3 at 0, B: 2 + 2 at 50.

    0-140    prefill of A (100 + 4 x 10), emits A1
    140-250  A decodes, B is prefilled (100 + 10): A2, B1
    250-350  both decode: A3 and B2, both end
    """
    done = simulate([Arrival(0, 5, 3), Arrival(50, 2, 2)])
    a, b = done.runs
    assert [(p.phase, p.start_ns, p.end_ns, p.start_position, len(p.token_ids), p.shared_by) for p in a.passes] == [
        ("prefill", 0, 140, 0, 5, 1), ("decode", 140, 250, 5, 1, 2), ("decode", 250, 350, 6, 1, 2),
    ]  # fmt: skip
    assert [(p.phase, p.start_ns, p.end_ns) for p in b.passes] == [("prefill", 90, 200), ("decode", 200, 300)]
    assert [(type(e), e.at_ns) for e in b.events if isinstance(e, Queued | Admitted | End)] == [(Queued, 0), (End, 300)]
    assert (timings(a).ttft_ns, timings(b).ttft_ns, timings(b).queue_ns) == (140, 200, 90)
    assert [(row.start_ns, row.end_ns) for row in done.rows] == [(0, 140), (140, 250), (250, 350)]
    assert [[(one.ticket, one.n_tokens, one.emitted) for one in row.shares] for row in done.rows] == [
        [(1, 5, 1)], [(1, 1, 1), (2, 2, 1)], [(1, 1, 1), (2, 1, 1)],
    ]  # fmt: skip
    assert done.end_ns == 350


def test_requests_that_arrive_at_one_instant_share_the_step():
    done = simulate([Arrival(0, 4, 1), Arrival(0, 4, 1)])
    assert [len(row.shares) for row in done.rows] == [2]


def test_chunks_alternate_with_a_decoder_and_only_the_last_emits():
    done = simulate([Arrival(0, 1, 20), Arrival(150, 100, 2)], policy=Policy(chunk=32))
    late = done.runs[1]
    prefill = [one for one in late.passes if one.phase == "prefill"]
    assert [len(one.token_ids) for one in prefill] == [32, 32, 32, 4]
    assert [len(one.emitted) for one in prefill] == [0, 0, 0, 1]
    # The decoder takes part in each of these steps; the head is read once for both.
    sizes = [cost.step_weight_bytes(SMALL, len(one.token_ids) + 1, 1 + len(one.emitted)) for one in prefill]
    assert [one.weight_bytes_read for one in prefill] == sizes


def check_laws(done, shape, arrivals):
    assert len(done.runs) == len(arrivals)
    for run, (_, n_prompt, n_new) in zip(done.runs, sorted(arrivals, key=lambda one: one.at_ns), strict=True):
        assert isinstance(run.end, End)
        record_file.check(run)
        assert len(run.emissions) == n_new
        assert run.passes[-1].positions_held == n_prompt + n_new - 1
        times = timings(run)
        if not any(isinstance(event, Preempted) for event in run.events):
            assert sum(len(one.token_ids) for one in run.passes) == n_prompt + n_new - 1
            assert times.ttft_ns == times.queue_ns + times.prefill_ns
        assert times.e2e_ns == times.ttft_ns + sum(times.itl_ns)
        for one in run.passes:
            n = len(one.token_ids)
            assert one.kv_bytes_held == cost.kv_bytes(shape, one.positions_held)
            assert one.kv_bytes_read == cost.kv_bytes_read(shape, one.start_position, n)
            assert one.kv_bytes_written == cost.kv_bytes_written(shape, n)
            assert one.state_bytes_held == one.state_bytes_read == cost.recurrent_state_bytes(shape)
            assert one.operations == cost.pass_operations(shape, one.start_position, n, len(one.emitted))


def check_rows(rows):
    for before, after in itertools.pairwise(rows):
        assert before.end_ns <= after.start_ns
    for number, row in enumerate(rows):
        assert row.number == number
        assert row.end_ns > row.start_ns
        assert 0 <= row.pages_used <= row.pages_total
        assert 0 <= row.slots_used <= row.slots_total


requests = st.lists(
    st.builds(Arrival, st.integers(0, 3000), st.integers(1, 120), st.integers(1, 40)), min_size=1, max_size=12
)


@settings(max_examples=60, deadline=None)
@given(
    requests,
    st.sampled_from(["continuous", "decode_first", "prefill_first", "static"]),
    st.sampled_from([None, 7, 64]),
    st.integers(10, 40),
    st.integers(1, 6),
)
def test_the_laws_hold_for_any_load_policy_and_memory(arrivals, name, chunk, n_pages, n_slots):
    policy = Policy(name, max_running=n_slots, token_budget=64, chunk=chunk)
    done = simulate(arrivals, n_pages=n_pages, n_slots=n_slots, policy=policy)
    check_laws(done, SMALL, arrivals)
    check_rows(done.rows)
    # Every emitted token is in exactly one row, and the last to leave leaves an empty memory.
    assert sum(share.emitted for row in done.rows for share in row.shares) == sum(one.n_new for one in arrivals)


@settings(max_examples=100, deadline=None)
@given(requests, st.integers(8, 30), st.integers(10, 30), st.integers(1, 4), st.sampled_from([16, 64, 2048]))
def test_the_laws_hold_for_two_machines_too(arrivals, first_pages, n_pages, n_slots, budget):
    policy = Policy(max_running=3, token_budget=budget)
    second = Machine(Hundreds(), CountedRoom(n_pages, n_slots), Policy(max_running=n_slots))
    link = Link("test", 1e9, "test", "2026", latency_ns=77)
    done = simulate(arrivals, n_pages=first_pages, n_slots=3, policy=policy, decode=second, link=link)
    check_laws(done, SMALL, arrivals)
    check_rows(done.rows)
    check_rows(done.decode_rows)
    assert len(done.transfers) == sum(one.n_new > 1 for one in arrivals)
    assert second.room.usage()[0] == second.room.usage()[2] == 0
    for before, after in itertools.pairwise(done.transfers):
        assert before.end_ns <= after.start_ns  # one at a time on the link


def test_a_preempted_request_computes_again_and_says_so():
    """Two pages hold 32 positions: two sequences of 10 + 20 cannot both grow to the end."""
    done = simulate([Arrival(0, 10, 20), Arrival(0, 10, 20)], n_pages=3, n_slots=2)
    first, second = done.runs
    assert not any(isinstance(event, Preempted) for event in first.events)
    lost = [event for event in second.events if isinstance(event, Preempted)]
    assert lost
    assert any(isinstance(event, Admitted) and event.at_ns >= lost[0].at_ns for event in second.events)
    again = next(one for one in second.passes if one.start_ns >= lost[0].at_ns)
    assert (again.phase, again.start_position) == ("prefill", 0)
    assert any(row.preempted == [2] for row in done.rows)
    assert len(second.emissions) == 20


def test_prefill_and_decode_apart_move_the_memory_over_the_link_by_hand():
    """5 + 3 alone: prefill 0-140, transfer of 5 positions and one state, then two decode steps of 100 ns."""
    link = Link("test", bandwidth_bytes_per_s=1e9, source="test", dated="2026", latency_ns=1000)
    second = Machine(Hundreds(), CountedRoom(100, 4))
    done = simulate([Arrival(0, 5, 3)], decode=second, link=link)
    n_bytes = cost.kv_bytes(SMALL, 5) + cost.recurrent_state_bytes(SMALL) + cost.window_bytes(SMALL)
    (moved,) = done.transfers
    assert (moved.ready_ns, moved.start_ns, moved.end_ns, moved.n_bytes) == (140, 140, 140 + 1000 + n_bytes, n_bytes)
    (run,) = done.runs
    assert [(p.start_ns, p.end_ns) for p in run.passes] == [
        (0, 140), (moved.end_ns, moved.end_ns + 100), (moved.end_ns + 100, moved.end_ns + 200),
    ]  # fmt: skip
    assert timings(run).ttft_ns == 140
    assert timings(run).itl_ns == (moved.end_ns + 100 - 140, 100)
    assert (len(done.rows), len(done.decode_rows)) == (1, 2)
    assert "transfer" in run.header.device.kernels


def test_memory_stays_on_the_first_machine_until_it_has_arrived():
    slow = Link("slow", bandwidth_bytes_per_s=1e6, source="test", dated="2026")
    done = simulate(
        [Arrival(0, 16, 2), Arrival(0, 16, 2)], n_slots=1, decode=Machine(Hundreds(), CountedRoom(9, 9)), link=slow
    )
    first, second = done.transfers
    # The only slot of the first machine is free for the second prompt when the first one's memory has left.
    assert done.rows[1].start_ns == first.end_ns
    assert second.ready_ns > first.end_ns


def test_a_request_that_never_fits_is_refused_and_holds_nobody_up():
    done = simulate([Arrival(0, 4000, 200), Arrival(0, 200, 10), Arrival(0, 8, 2), Arrival(0, 0, 2)], n_pages=4)
    errors = [run.end.message for run in done.runs if isinstance(run.end, Error)]
    assert len(errors) == 3
    assert "context's 4,096" in errors[0]
    assert "209 positions does not fit" in errors[1]
    assert isinstance(done.runs[2].end, End)
    for run in done.runs:
        record_file.check(run)


def test_without_a_cache_every_step_redoes_the_prefix():
    done = simulate([Arrival(0, 6, 4)], serving=Serving(cache="recomputed"))
    assert [len(one.token_ids) for one in done.runs[0].passes] == [6, 7, 8, 9]
    assert [one.start_position for one in done.runs[0].passes] == [0, 0, 0, 0]
    assert [one.positions_held for one in done.runs[0].passes] == [0, 0, 0, 0]
    assert [row.pages_used for row in done.rows] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"link": LINKS["NVLink 4"]},
        {"serving": Serving(drafts="prompt_lookup")},
        {"serving": Serving(reuse_prefix=True)},
        {
            "serving": Serving(cache="recomputed"),
            "link": LINKS["NVLink 4"],
            "decode": Machine(Hundreds(), CountedRoom(9, 9)),
        },
    ],
)
def test_what_cannot_be_simulated_is_refused_in_words(wrong):
    with pytest.raises(ValueError, match=r"cache|Drafts|link"):
        simulate([], **wrong)


def test_the_same_arrivals_give_the_same_bytes():
    arrivals = load("poisson", 40.0, 30, LENGTHS["code"], context_length=4096, seed=5)
    first, second = (simulate(arrivals, n_pages=300, n_slots=4) for _ in range(2))
    assert [record_file.dumps(run) for run in first.runs] == [record_file.dumps(run) for run in second.runs]
    assert first.rows == second.rows


def test_a_simulated_record_says_so_and_survives_a_file():
    (run,) = simulate([Arrival(2_000_000, 5, 3)]).runs
    assert run.header.evidence == "simulated"
    assert run.header.device.kind == "simulated"
    assert run.header.device.kernels == {"step": "test"}
    assert run.header.ticket == 1
    assert record_file.loads(record_file.dumps(run)) == run
    assert run.text == ""


def test_27b_on_one_h100_holds_fewer_sequences_than_on_an_h200():
    shape = PRESET_SHAPES["Qwen3.5-27B"]
    pages = {}
    for name in ("H100 SXM", "H200 SXM"):
        room = CountedRoom.for_budget(shape, HARDWARE[name].memory_bytes, n_slots=16)
        taken = room.n_pages * PAGE_SIZE * cost.kv_bytes_per_position(shape)
        slots = 16 * (cost.recurrent_state_bytes(shape) + cost.window_bytes(shape))
        left = HARDWARE[name].memory_bytes - shape.weight_bytes - slots - taken
        assert 0 <= left < PAGE_SIZE * cost.kv_bytes_per_position(shape)
        pages[name] = room.n_pages
    assert pages["H200 SXM"] - pages["H100 SXM"] == pytest.approx(61e9 / (PAGE_SIZE * 65_536), abs=2)
    with pytest.raises(DoesNotFit, match=r"27B does not fit.*53\.79 GB"):
        CountedRoom.for_budget(shape, HARDWARE["RTX 4090"].memory_bytes, n_slots=1)


def test_batching_shares_the_weights_on_a_memory_bound_machine():
    """Sixteen sequences of the 0.8B shape take hardly longer a step than one: a roofline through the scheduler."""
    hardware = HARDWARE["H200 SXM"]
    speeds = []
    for n in (1, 16):
        room = CountedRoom.for_budget(SHAPE, hardware.memory_bytes, 16)
        done = Simulator(SHAPE, Machine(Roofline(SHAPE, hardware), room)).run([Arrival(0, 8, 50)] * n)
        speeds.append(n * 50 / done.end_ns)
    assert speeds[1] > 10 * speeds[0]


def test_the_page_size_is_that_of_the_real_memory():
    pages = pytest.importorskip("engine.memory.pages")
    assert pages.PAGE_SIZE == PAGE_SIZE


def test_a_model_of_linear_layers_only_needs_no_pages():
    linear = msgspec.structs.replace(SMALL, layer_types=["linear_attention"] * 2)
    room = CountedRoom.for_budget(linear, 10**6, 2)
    done = Simulator(linear, Machine(Hundreds(), room)).run([Arrival(0, 50, 5)])
    assert len(done.runs[0].emissions) == 5
    assert done.rows[0].pages_used == 0


@pytest.mark.parametrize("module", ["simulator", "arrivals", "counted_room", "simulated_record"])
def test_the_virtual_clock_needs_no_torch(module):
    code = f"import sys, engine.loop.{module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
