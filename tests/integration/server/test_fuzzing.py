"""Whatever a real server is sent, it answers, and never with 500."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest.importorskip("granian", reason="needs penstock[server]")
pytest.importorskip("schemathesis", reason="a development dependency")

import schemathesis
from schemathesis.checks import CHECKS

from penstock.server.composition import new_server
from penstock.server.rest.openapi import openapi_document
from tests.integration.server.processes import Rest

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

QUERIES = [
    "SELECT * FROM s;", "SELECT k FROM s LIMIT 1;", "SELECT * FROM s EMIT CHANGES LIMIT 1;",
    "SELECT * FROM t WHERE k = 1;", "SELECT nope FROM t;", "SHOW STREAMS;", "SELECT", ";", "",
]  # fmt: skip
STATEMENTS = [
    "SHOW STREAMS;", "DESCRIBE t EXTENDED;", "INSERT INTO s VALUES (1, 2);", "SHOW TOPICS;",
    "INSERT INTO t VALUES (1, 2);", "DROP STREAM nope;", "SHOW PROPERTIES;", "CREATE",
]  # fmt: skip


def _document() -> dict[str, Any]:
    """Return the document with statements that say something, among any others."""
    document = deepcopy(openapi_document())
    # Terminating the cluster would end all other tests.
    del document["paths"]["/ksql/terminate"]
    chosen = {"/ksql": ("ksql", STATEMENTS), "/query": ("ksql", QUERIES)}
    chosen["/query-stream"] = ("sql", QUERIES)
    for path, (name, texts) in chosen.items():
        content = document["paths"][path]["post"]["requestBody"]["content"]
        fields = content["application/json"]["schema"]["properties"]
        fields[name] = {"anyOf": [{"enum": texts}, {"type": "string", "maxLength": 30}]}
        # A command of the future is waited for, and then answered with 503.
        fields.pop("commandSequenceNumber", None)
    return document


SCHEMA = schemathesis.openapi.from_dict(_document())
CONFORMS = [CHECKS.get_one("not_a_server_error")]


@pytest.fixture(scope="module")
def url(kafka_broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("fuzzing")
    name = f"f{uuid4().hex[:8]}_"
    given = {
        "bootstrap.servers": kafka_broker,
        "ksql.service.id": name,
        "state.dir": str(folder),
        "penstock.server.listen": "127.0.0.1:0",
        "auto.offset.reset": "earliest",
    }
    with new_server(given) as server:
        Rest(server.url).ksql(
            f"CREATE STREAM s (k INT KEY, v INT)"
            f" WITH (KAFKA_TOPIC='{name}s', VALUE_FORMAT='JSON', PARTITIONS=1);"
            f"CREATE TABLE t (k INT PRIMARY KEY, v INT)"
            f" WITH (KAFKA_TOPIC='{name}t', VALUE_FORMAT='JSON', PARTITIONS=1);"
            "INSERT INTO s VALUES (1, 1); INSERT INTO t VALUES (1, 1);"
        )
        yield server.url


@SCHEMA.parametrize()
@settings(
    max_examples=20,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_server_never_fails(case: schemathesis.Case, url: str) -> None:
    """Bad requests are refused with a reason, and good ones are answered."""
    case.call_and_validate(base_url=url, checks=CONFORMS)
