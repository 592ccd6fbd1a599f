"""What the server does is what its OpenAPI document says: hundreds of requests compare them.

Exercises ``wire.models``.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest.importorskip("granian", reason="needs penstock-streams[server]")
pytest.importorskip("schemathesis", reason="a development dependency")

import schemathesis
from schemathesis.checks import CHECKS

from penstock.serving.openapi import openapi_document
from penstock.serving.server import ServingServer
from tests.unit.serving.test_server import Client, application


def _of_this_application() -> dict[str, Any]:
    """Return the document with the stores and some keys of the application that is asked."""
    document = deepcopy(openapi_document())
    stores = [*application().stores(), "no-such-store"]
    key = {"anyOf": [{"enum": ["ann", "user-01", "7", "de", "a b"]}, {"type": "string"}]}
    for path in document["paths"].values():
        for parameter in path.get("get", {}).get("parameters", ()):
            if parameter["in"] == "path" and parameter["schema"] == {"type": "string"}:
                is_store = parameter["name"] == "store"
                parameter["schema"] = {"type": "string", "enum": stores} if is_store else key
    return document


SCHEMA = schemathesis.openapi.from_dict(_of_this_application())
#: A feed does not end by itself.
WITHOUT_FEEDS = SCHEMA.exclude(path=["/feeds/{store}", "/status/feed", "/journeys/{topic}/live"])
CONFORMS = [
    CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "response_headers_conformance",
    )
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ServingServer(application()) as server:
        yield server.url


@WITHOUT_FEEDS.parametrize()
@settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_as_described(case: Any, url: str) -> None:
    case.call_and_validate(base_url=url, checks=CONFORMS)


def test_the_document_is_served_and_has_every_route(url: str) -> None:
    _, document, _ = Client(int(url.rpartition(":")[2])).get("/openapi.json")
    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]) == {
        "/stores", "/stores/{store}", "/stores/{store}/{key}", "/metadata",
        "/metadata/{store}/{key}", "/topology", "/topology.svg", "/health/live", "/health/ready",
        "/metrics", "/feeds/{store}", "/openapi.json", "/about", "/status", "/status/history",
        "/status/heat", "/status/feed", "/topology/program", "/console/",
        "/commits", "/changes/{store}", "/history/{store}/{key}", "/hot-keys/{store}",
        "/failed-records", "/failed-records/{partition}/{offset}", "/failed-records/redrive",
        "/plan", "/journeys", "/journeys/{topic}", "/journeys/{topic}/live",
        "/journeys/{topic}/{partition}/{offset}",
    }  # fmt: skip
