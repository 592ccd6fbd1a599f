"""What queries answer is what the OpenAPI document says, whatever they are sent."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest.importorskip("granian", reason="needs the extra server")
pytest.importorskip("schemathesis", reason="a development dependency")

import schemathesis
from schemathesis.checks import CHECKS
from starlette.applications import Starlette

from penstock.server.rest.openapi import openapi_document
from penstock.server.rest.query_openapi import query_paths
from penstock.serving.http_server import HttpServer
from penstock.serving.options import ServerOptions
from tests.unit.server.query_memory import QueryWorld

STATEMENTS = [
    "SELECT * FROM users WHERE id = 'ann';", "SELECT * FROM users;", "SELECT 1 FROM users;",
    "SELECT age, COUNT(*) FROM users GROUP BY age;", "SELECT * FROM users EMIT CHANGES LIMIT 0;",
    "PRINT users FROM BEGINNING LIMIT 1;", "PRINT nothing;", "DROP TABLE users;", "SELECT",
]  # fmt: skip
TABLE = """
    CREATE TABLE users (id VARCHAR PRIMARY KEY, age INT)
        WITH (KAFKA_TOPIC='users', PARTITIONS=1, VALUE_FORMAT='JSON');
"""


def _document() -> dict[str, Any]:
    """Return the paths of queries, with statements that say something among any others."""
    document = deepcopy(openapi_document())
    document["paths"] = deepcopy(query_paths())
    statement = {"anyOf": [{"enum": STATEMENTS}, {"type": "string", "maxLength": 40}]}
    for path, name in (("/query", "ksql"), ("/query-stream", "sql")):
        body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        body["schema"]["properties"][name] = statement
    document["paths"]["/query-stream"]["get"]["parameters"][0]["schema"] = statement
    return document


SCHEMA = schemathesis.openapi.from_dict(_document())
CONFORMS = [
    CHECKS.get_one(name)
    for name in ("not_a_server_error", "content_type_conformance", "response_schema_conformance")
]


class Application:
    """The routes of queries alone."""

    def __init__(self, world: QueryWorld) -> None:
        self._app = Starlette(routes=world.routes.routes())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    def end_feeds(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    world = QueryWorld(tmp_path_factory.mktemp("replicas"))
    world.execute(TABLE)
    world.topics.add("users", b"ann", b'{"AGE": 30}')
    server = HttpServer(lambda: Application(world), ServerOptions(), "test").start()
    yield server.url
    server.stop()
    world.close()


@SCHEMA.parametrize()
@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_answers_of_queries_conform(case: schemathesis.Case, url: str) -> None:
    """Status, media type and JSON are those of the document, and never 500."""
    case.call_and_validate(base_url=url, checks=CONFORMS)
