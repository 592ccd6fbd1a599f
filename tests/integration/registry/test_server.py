"""The registry's server over HTTP, by hand and through Confluent's client."""

import json
import pickle
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from penstock.formats.rows import serde_for
from penstock.model.sql.types import STRING, Field
from penstock.registry.http_registry import HttpRegistry
from penstock.registry.registries import registry_for
from penstock.registry.registry import (
    MemoryRegistry,
    RegistryError,
    Schema,
    SchemaReference,
    SchemaRegistry,
)
from penstock.registry.registry_server import RegistryServer

INT = Schema("AVRO", '"int"')


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer(MemoryRegistry()) as running:
        yield running


@pytest.fixture
def client(server: RegistryServer) -> SchemaRegistry:
    for needed in ("attrs", "authlib", "cachetools"):
        pytest.importorskip(needed, reason="needs confluent-kafka[schemaregistry]")
    return HttpRegistry(server.url)


def ask(server: RegistryServer, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(server.url + path, data, method=method), timeout=10) as response:
            return response.status, json.load(response)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_server_listens_on_loopback_only(server: RegistryServer) -> None:
    assert server.url.startswith("http://127.0.0.1:")


def test_requests_and_refusals_over_http(server: RegistryServer) -> None:
    added = ask(server, "POST", "/subjects/a%2Fb-value/versions", {"schema": '"int"'})
    assert added == (200, {"id": 1})
    assert ask(server, "GET", "/subjects") == (200, ["a/b-value"])
    assert ask(server, "GET", "/schemas/ids/1") == (200, {"schema": '"int"'})
    assert ask(server, "GET", "/schemas/ids/2")[0] == 404
    assert ask(server, "POST", "/subjects/a/versions", [])[0] == 422
    assert ask(server, "GET", "/schemas/ids/one")[0] == 422
    assert ask(server, "DELETE", "/subjects/a%2Fb-value?permanent=true") == (200, [1])
    assert ask(server, "GET", "/subjects") == (200, [])


def test_confluents_client_registers_and_reads(client: SchemaRegistry) -> None:
    assert client.register("part", Schema("PROTOBUF", 'syntax="proto3"; message P {}')) == 1
    text = 'syntax="proto3"; import "p.proto"; message M { P p = 1; }'
    schema = Schema("PROTOBUF", text, (SchemaReference("p.proto", "part", 1),))
    assert client.register("whole", schema) == 2
    assert client.by_id(2) == schema
    latest = client.latest("whole")
    assert latest is not None
    assert (latest.version, latest.id, latest.schema) == (1, 2, schema)
    assert client.version("whole", 1) == latest
    assert client.subjects() == ["part", "whole"]
    assert client.delete("whole") == [1]
    assert client.latest("whole") is None
    assert client.delete("whole") == []


def test_confluents_client_gives_clear_errors(client: SchemaRegistry) -> None:
    with pytest.raises(RegistryError, match="no schema with id 9"):
        client.by_id(9)
    with pytest.raises(RegistryError, match="invalid AVRO schema"):
        client.register("a", Schema("AVRO", '"no type"'))
    assert client.version("a", 1) is None


def test_rows_travel_through_a_registry_over_http(client: SchemaRegistry) -> None:
    """A serde that is sent to a worker connects from there."""
    rows = serde_for("AVRO", [Field("A", STRING)], is_key=False, topic="t", registry=client)
    data = rows.encode(("x",))
    assert pickle.loads(pickle.dumps(rows)).decode(data) == ("x",)


def test_registry_that_is_away_is_named(server: RegistryServer, client: SchemaRegistry) -> None:
    server.stop()
    with pytest.raises(RegistryError, match=server.url):
        client.subjects()


def test_url_and_login_of_the_settings_reach_the_client(
    server: RegistryServer, client: SchemaRegistry
) -> None:
    settings = {
        "ksql.schema.registry.url": server.url,
        "ksql.schema.registry.basic.auth.credentials.source": "USER_INFO",
        "ksql.schema.registry.basic.auth.user.info": "ann:secret",
    }
    client.register("a", INT)
    assert registry_for(settings).subjects() == ["a"]
