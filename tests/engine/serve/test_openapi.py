"""The server's own description is complete, and whatever it allows, or forbids, gets an answer in the server's form."""

from __future__ import annotations

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from engine.serve.openapi import OPERATIONS, document
from engine.serve.server import build
from tests.engine.serve.conftest import PATIENCE_S
from tests.engine.serve.scripted import ScriptedEngine

ROUTES = build(ScriptedEngine).routes
DESCRIBED = [found.ok() for found in schemathesis.openapi.from_dict(document(ROUTES, False)).get_all_operations()]

few = settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck),
               phases=[Phase.generate])  # fmt: skip


def test_every_route_is_described(http):
    told = http.get("/openapi.json").json()
    assert {route.path for route in ROUTES} == set(OPERATIONS) == set(told["paths"])
    for path in told["paths"].values():
        for operation in path.values():
            assert operation["summary"] and "default" in operation["responses"]
    assert document(ROUTES, True)["security"] == [{"token": []}]


CALLS = [
    pytest.param(operation, mode, id=f"{operation.label}-{mode.value}")
    for operation in DESCRIBED
    for mode in GenerationMode
    # Where nothing is taken nothing can be wrong; and a reservation that is granted would hold up everybody else here.
    if (operation.path != "/reservation" if mode is GenerationMode.POSITIVE else operation.body or operation.query)
]


@pytest.mark.parametrize(("operation", "mode"), CALLS)
def test_what_keeps_to_the_document_and_what_does_not_are_answered_as_it_says(url, operation, mode):
    with requests.Session() as session:
        session.trust_env = False

        @few
        @given(operation.as_strategy(generation_mode=mode))
        def answered(case):
            answer = case.call(base_url=url, session=session, timeout=PATIENCE_S)
            case.validate_response(
                answer, checks=[not_a_server_error, content_type_conformance, response_schema_conformance]
            )

        answered()
