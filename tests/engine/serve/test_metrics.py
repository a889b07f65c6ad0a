"""What Prometheus sees, read by Prometheus' own parser."""

from __future__ import annotations

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from engine.account.record import Admitted, End, Preempted, Sampling
from engine.account.step_record import Share, StepRow
from engine.loop.room import Usage
from engine.serve.client import EngineClient
from engine.serve.metrics import ServiceMetrics
from tests.engine.builders import header, run_of
from tests.engine.hand_made import decode, numbered, step
from tests.engine.serve.conftest import engine_server, until
from tests.engine.serve.scripted import ScriptedEngine

NAMES = {
    "num_requests_running": "gauge",
    "num_requests_waiting": "gauge",
    "kv_cache_usage_perc": "gauge",
    "prompt_tokens": "counter",
    "generation_tokens": "counter",
    "request_success": "counter",
    "num_preemptions": "counter",
    "prefix_cache_queries": "counter",
    "prefix_cache_hits": "counter",
    "spec_decode_num_drafts": "counter",
    "spec_decode_num_draft_tokens": "counter",
    "spec_decode_num_accepted_tokens": "counter",
    "request_prompt_tokens": "histogram",
    "request_generation_tokens": "histogram",
    "iteration_tokens_total": "histogram",
    "time_to_first_token_seconds": "histogram",
    "inter_token_latency_seconds": "histogram",
    "request_time_per_output_token_seconds": "histogram",
    "e2e_request_latency_seconds": "histogram",
    "request_queue_time_seconds": "histogram",
    "request_inference_time_seconds": "histogram",
    "request_prefill_time_seconds": "histogram",
    "request_decode_time_seconds": "histogram",
}
"""vLLM's names (its `vllm:` is our `twospeeds_`), as its logger registered them in 2025 and 2026."""


def read(page: str) -> dict[str, float]:
    """Sample name (with its reason, if any) -> value, buckets left out."""
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return {
        sample.name.removeprefix("twospeeds_") + sample.labels.get("finished_reason", ""): sample.value
        for sample in samples
        if "le" not in sample.labels
    }


def scrape(client: EngineClient) -> dict[str, float]:
    return read(client._http.get("/metrics").text)


@pytest.fixture
def metrics() -> ServiceMetrics:
    return ServiceMetrics(lambda: (3, 2), lambda: Usage(6, 8, 2, 5))


def told_by(metrics: ServiceMetrics) -> dict[str, float]:
    return read(metrics.page().decode())


def test_the_names_and_types_are_those_that_dashboards_for_serving_engines_ask_for(metrics):
    families = {
        family.name.removeprefix("twospeeds_"): family.type
        for family in text_string_to_metric_families(metrics.page().decode())
    }
    assert NAMES.items() <= families.items()


def test_tokens_requests_and_latencies_of_ended_runs_are_counted():
    with engine_server(ScriptedEngine(0.002)) as url, EngineClient(url) as client:
        assert scrape(client)["num_requests_running"] == 0
        for _ in range(2):
            list(client.events(client.submit("one two three", Sampling(max_new_tokens=5))))
        list(client.events(client.submit("crash", Sampling(max_new_tokens=5))))
        told = scrape(client)
        assert told["prompt_tokens_total"] == 3 + 3 + 1
        assert told["generation_tokens_total"] == 5 + 5 + 2
        assert told["request_success_totallength"] == 2
        assert told["request_success_totalerror"] == 1
        # The run that broke is counted, and its times are nobody's latency.
        assert told["time_to_first_token_seconds_count"] == 2
        assert told["inter_token_latency_seconds_count"] == 4 + 4
        # Five passes of at least 2 ms each, in seconds: a wrong unit would be off by powers of ten.
        assert 0.002 * (5 + 5) <= told["e2e_request_latency_seconds_sum"] < 30
        assert told["request_queue_time_seconds_count"] == 2


def test_running_and_waiting_requests_are_told_as_they_are_now():
    with engine_server(ScriptedEngine(0.02)) as url, EngineClient(url) as client:
        ids = [client.submit("a", Sampling(max_new_tokens=4000)) for _ in range(3)]
        told = scrape(client)
        assert (told["num_requests_running"], told["num_requests_waiting"]) == (1, 2)
        for run_id in ids:
            client.cancel(run_id)
        until(lambda: scrape(client)["num_requests_running"] == 0)
        assert scrape(client)["request_success_totalabort"] == 3


def test_a_request_s_time_is_told_in_seconds_and_its_parts_add_up(metrics):
    second = 1_000_000_000
    metrics.observe(run_of([(2 * second, 3 * second), (3 * second, 5 * second), (5 * second, 6 * second)]))
    told = told_by(metrics)
    assert told["request_queue_time_seconds_sum"] == 2
    assert told["request_prefill_time_seconds_sum"] == 1
    assert told["request_decode_time_seconds_sum"] == 3
    assert told["request_inference_time_seconds_sum"] == 4
    assert told["time_to_first_token_seconds_sum"] == 3
    assert told["e2e_request_latency_seconds_sum"] == 6
    assert told["request_time_per_output_token_seconds_sum"] == 1.5
    assert (told["inter_token_latency_seconds_sum"], told["inter_token_latency_seconds_count"]) == (3, 2)
    assert (told["request_prompt_tokens_sum"], told["request_generation_tokens_sum"]) == (5, 3)


def test_reuse_preemption_and_drafts_are_counted_apart_from_prompt_tokens(metrics):
    events = [
        header("x" * 100),
        Admitted(0, 0, reused_positions=90),
        step(90, 10, 0, 10, emits=1),
        Preempted(0, 10, 100),
        Admitted(0, 20, reused_positions=100),
        step(100, 5, 20, 30, phase="decode", emits=3, drafted=4, accepted=2),
        decode(103, 30, 40),
        End(0, "length", 40),
    ]
    metrics.observe(numbered(events))
    told = told_by(metrics)
    assert (told["prompt_tokens_total"], told["prompt_tokens_cached_total"]) == (10, 90)
    assert (told["prefix_cache_queries_total"], told["prefix_cache_hits_total"]) == (100, 90)
    assert (told["num_preemptions_total"], told["recomputed_tokens_total"]) == (1, 0)
    assert told["spec_decode_num_drafts_total"] == 1
    assert (told["spec_decode_num_draft_tokens_total"], told["spec_decode_num_accepted_tokens_total"]) == (4, 2)


def test_memory_in_use_is_a_share_and_what_is_not_known_is_left_out(metrics):
    told = told_by(metrics)
    assert told["kv_cache_usage_perc"] == 0.75
    assert (told["kv_pages_used"], told["kv_pages"], told["state_slots_used"], told["state_slots"]) == (6, 8, 2, 5)
    for nothing in (None, Usage(0, 0, 0, 0)):
        told = told_by(ServiceMetrics(lambda: (0, 0), lambda nothing=nothing: nothing))
        assert not {"kv_cache_usage_perc", "kv_pages", "state_slots"} & told.keys()


def test_tokens_of_each_step_are_a_histogram_and_no_step_counts_twice():
    row = StepRow(0, 0, 10, 1, [Share(1, "decode", 1), Share(2, "prefill", 64)], [], 0, 0, 0, 0)
    rows = [row, msgspec.structs.replace(row, number=1, shares=row.shares[:1])]
    metrics = ServiceMetrics(lambda: (0, 0), steps_since=lambda number: [one for one in rows if one.number >= number])
    told_by(metrics)
    rows.append(msgspec.structs.replace(row, number=2))
    told = told_by(metrics)
    assert (told["iteration_tokens_total_count"], told["iteration_tokens_total_sum"]) == (3, 65 + 1 + 65)
