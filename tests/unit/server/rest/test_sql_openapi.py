"""What the server does is what its OpenAPI document says, whatever it is sent.

Exercises ``server.rest.openapi``.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest.importorskip("granian", reason="needs penstock[server]")
pytest.importorskip("schemathesis", reason="a development dependency")

import schemathesis
from schemathesis.checks import CHECKS

from penstock.server.application import serve
from penstock.server.console.console_service import ConsoleService
from penstock.server.rest.openapi import openapi_document
from penstock.serving.options import ServerOptions
from tests.unit.server.memory import new_node
from tests.unit.server.test_node import STREAM
from tests.unit.serving.memory_application import Cluster, MemoryApplication

STATEMENTS = [
    "SHOW STREAMS;", "SHOW QUERIES EXTENDED;", "DESCRIBE s;", "INSERT INTO s VALUES (1, 2);",
    "CREATE STREAM a AS SELECT * FROM s;", "DROP STREAM a;", "SELECT 1;", "SET 'a' = 'b';", ";",
]  # fmt: skip


def _with_statements() -> dict[str, Any]:
    """Return the document with statements that say something, among any others."""
    document = deepcopy(openapi_document())
    body = document["paths"]["/ksql"]["post"]["requestBody"]["content"]["application/json"]
    fields = body["schema"]["properties"]
    fields["ksql"] = {"anyOf": [{"enum": STATEMENTS}, {"type": "string", "maxLength": 40}]}
    # A command of the future is waited for, and then answered with 503.
    fields["commandSequenceNumber"] = {"enum": [None, -1, 0]}
    return document


# Terminating the cluster would end all other tests.
# What is below a query is tested with the application; here it only has to be refused.
SCHEMA = (
    schemathesis.openapi.from_dict(_with_statements())
    .exclude(path="/ksql/terminate")
    .exclude(
        path_regex="^/applications/.*/(feeds|status|stores|changes|history|hot|journeys/.*/live)"
    )
)
CONFORMS = [
    CHECKS.get_one(name)
    for name in ("not_a_server_error", "content_type_conformance", "response_schema_conformance")
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    node, _ = new_node()
    with node:
        node.execute(STREAM)
        console = ConsoleService(
            node, ServerOptions(), lambda streams: MemoryApplication(Cluster({}))
        )
        server = serve(node, ServerOptions(), [console]).start()
        yield server.url
        server.stop()


@SCHEMA.parametrize()
@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_answers_conform(case: schemathesis.Case, url: str) -> None:
    """Status, media type and JSON are those of the document, and never 500."""
    case.call_and_validate(base_url=url, checks=CONFORMS)


def test_every_route_of_the_server_is_documented() -> None:
    """A path that nobody wrote down is a path that nobody finds."""
    paths = openapi_document()["paths"]
    assert {"/ksql", "/info", "/healthcheck", "/status", "/clusterStatus"} <= set(paths)
    for path in paths.values():
        for name, operation in path.items():
            if name != "parameters":
                assert operation["summary"].endswith(".")
