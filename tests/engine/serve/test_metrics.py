"""What Prometheus sees."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from engine.account.record import Sampling
from engine.serve.client import EngineClient
from tests.engine.serve.conftest import engine_server, until
from tests.engine.serve.scripted import ScriptedEngine


def scrape(client: EngineClient) -> dict[str, float]:
    """Sample name (with its reason, if any) -> value, buckets left out."""
    text = client._http.get("/metrics").text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {
        sample.name + sample.labels.get("finished_reason", ""): sample.value
        for sample in samples
        if "le" not in sample.labels
    }


def test_tokens_requests_and_latencies_of_ended_runs_are_counted():
    with engine_server(ScriptedEngine(0.002)) as url, EngineClient(url) as client:
        assert scrape(client)["twospeeds_num_requests_running"] == 0
        for _ in range(2):
            list(client.events(client.submit("one two three", Sampling(max_new_tokens=5))))
        list(client.events(client.submit("crash", Sampling(max_new_tokens=5))))
        told = scrape(client)
        assert told["twospeeds_prompt_tokens_total"] == 3 + 3 + 1
        assert told["twospeeds_generation_tokens_total"] == 5 + 5 + 2
        assert told["twospeeds_requests_totallength"] == 2
        assert told["twospeeds_requests_totalerror"] == 1
        assert told["twospeeds_time_to_first_token_seconds_count"] == 3
        assert told["twospeeds_inter_token_latency_seconds_count"] == 4 + 4 + 1
        assert told["twospeeds_e2e_request_latency_seconds_count"] == 3
        # Five passes of at least 2 ms each, in seconds: a wrong unit would be off by powers of ten.
        assert 0.002 * (5 + 5 + 2) <= told["twospeeds_e2e_request_latency_seconds_sum"] < 30
        assert told["twospeeds_request_queue_time_seconds_count"] == 3


def test_running_and_waiting_requests_are_told_as_they_are_now():
    with engine_server(ScriptedEngine(0.02)) as url, EngineClient(url) as client:
        ids = [client.submit("a", Sampling(max_new_tokens=4000)) for _ in range(3)]
        told = scrape(client)
        assert (told["twospeeds_num_requests_running"], told["twospeeds_num_requests_waiting"]) == (1, 2)
        for run_id in ids:
            client.cancel(run_id)
        until(lambda: scrape(client)["twospeeds_num_requests_running"] == 0)
        assert scrape(client)["twospeeds_requests_totalcancelled"] == 3
