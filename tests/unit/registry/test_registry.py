"""The registry: what its log says, and what its HTTP interface answers.

Exercises ``registry_state``.
"""

import json
import pickle
from typing import Any

import pytest

from penstock.registry.registries import registry_for
from penstock.registry.registry import (
    LogRegistry,
    MemoryLog,
    MemoryRegistry,
    RegistryError,
    Schema,
    SchemaReference,
)
from penstock.registry.registry_routes import ApiError, Request, answer

INT = Schema("AVRO", '"int"')
TEXT = Schema("AVRO", '{"type": "string"}')


def ask(registry: LogRegistry, method: str, path: str, body: Any = None, **query: str) -> Any:
    parts = tuple(part for part in path.split("/") if part)
    return answer(registry, Request(method, parts, query, body or {}))


def refused(registry: LogRegistry, method: str, path: str, body: Any = None) -> tuple[int, int]:
    with pytest.raises(ApiError) as error:
        ask(registry, method, path, body)
    return error.value.status, error.value.code


def test_same_schema_has_one_id_under_all_subjects() -> None:
    registry = MemoryRegistry()
    assert [registry.register(s, INT) for s in ("a", "b", "a")] == [1, 1, 1]
    assert registry.register("a", TEXT) == 2
    latest = registry.latest("a")
    assert latest is not None
    assert (latest.version, latest.id) == (2, 2)
    assert registry.subjects() == ["a", "b"]


def test_layout_of_the_text_makes_no_other_schema() -> None:
    registry = MemoryRegistry()
    registry.register("a", TEXT)
    assert registry.register("a", Schema("AVRO", '{"type":"string"}')) == 1
    assert registry.register("a", Schema("AVRO", '{"type":"bytes"}')) == 2


def test_deleted_version_is_gone_but_its_id_and_number_are_not_used_again() -> None:
    registry = MemoryRegistry()
    registry.register("a", INT)
    assert registry.delete("a") == [1]
    assert (registry.latest("a"), registry.subjects()) == (None, [])
    assert registry.by_id(1) == INT
    registry.register("a", TEXT)
    latest = registry.latest("a")
    assert latest is not None
    assert (latest.version, latest.id) == (2, 2)


def test_registries_on_one_log_see_each_other() -> None:
    records: list[Any] = []
    first, second = LogRegistry(MemoryLog(records)), LogRegistry(MemoryLog(records))
    assert first.register("a", INT) == 1
    assert second.register("a", TEXT) == 2
    latest = first.latest("a")
    assert latest is not None
    assert latest.id == 2


def test_log_has_the_records_of_confluents_registry() -> None:
    log = MemoryLog()
    LogRegistry(log).register(
        "a", Schema("PROTOBUF", "message M {}", (SchemaReference("p.proto", "p", 3),))
    )
    ((key, value),) = log.records
    assert json.loads(key) == {"keytype": "SCHEMA", "subject": "a", "version": 1, "magic": 1}
    assert json.loads(value or b"") == {
        "subject": "a",
        "version": 1,
        "id": 1,
        "schemaType": "PROTOBUF",
        "references": [{"name": "p.proto", "subject": "p", "version": 3}],
        "schema": "message M {}",
        "deleted": False,
    }


def test_log_of_confluents_registry_can_be_read() -> None:
    """Records of other kinds are passed over; a deleted subject is one record."""
    schema = {"subject": "a", "version": 1, "id": 5, "schema": '"int"', "deleted": False}
    key = {"keytype": "SCHEMA", "subject": "a", "version": 1, "magic": 1}
    gone = {"keytype": "DELETE_SUBJECT", "subject": "a", "magic": 0}
    records = [
        ({"keytype": "NOOP", "magic": 0}, None),
        ({"keytype": "CONFIG", "subject": None, "magic": 0}, {"compatibilityLevel": "FULL"}),
        (key, schema),
        (gone, {"subject": "a", "version": 1}),
    ]
    log = MemoryLog(
        [
            (json.dumps(k).encode(), None if v is None else json.dumps(v).encode())
            for k, v in records
        ]
    )
    registry = LogRegistry(log)
    assert registry.subjects() == []
    assert registry.by_id(5) == INT


def test_pickled_memory_registry_has_its_schemas() -> None:
    registry = MemoryRegistry()
    registry.register("a", INT)
    assert pickle.loads(pickle.dumps(registry)).by_id(1) == INT


def test_unknown_id_is_an_error() -> None:
    with pytest.raises(RegistryError, match="no schema with id 9"):
        MemoryRegistry().by_id(9)


def test_taken_id_is_refused() -> None:
    registry = MemoryRegistry()
    registry.register("a", INT, 7)
    with pytest.raises(RegistryError, match="id 7 belongs to another schema"):
        registry.register("a", TEXT, 7)


def test_routes_of_a_subject() -> None:
    registry = MemoryRegistry()
    assert ask(registry, "GET", "/subjects") == []
    assert ask(registry, "POST", "/subjects/a/versions", {"schema": '"int"'}) == {"id": 1}
    proto = {"schema": "message M { optional int32 x = 1; }", "schemaType": "PROTOBUF"}
    assert ask(registry, "POST", "/subjects/a/versions", proto) == {"id": 2}
    assert ask(registry, "GET", "/subjects") == ["a"]
    assert ask(registry, "GET", "/subjects/a/versions") == [1, 2]
    first = {"subject": "a", "version": 1, "id": 1, "schema": '"int"'}
    assert ask(registry, "GET", "/subjects/a/versions/1") == first
    assert ask(registry, "GET", "/subjects/a/versions/latest") == {
        "subject": "a", "version": 2, "id": 2, **proto,
    }  # fmt: skip
    assert ask(registry, "GET", "/subjects/a/versions/1/schema") == '"int"'
    assert ask(registry, "POST", "/subjects/a", {"schema": '"int"'}) == first


def test_routes_of_an_id() -> None:
    registry = MemoryRegistry()
    registry.register("a", INT)
    registry.register("b", INT)
    assert ask(registry, "GET", "/schemas/ids/1") == {"schema": '"int"'}
    assert ask(registry, "GET", "/schemas/ids/1/schema") == '"int"'
    assert ask(registry, "GET", "/schemas/ids/1/subjects") == ["a", "b"]
    assert ask(registry, "GET", "/schemas/ids/1/versions") == [
        {"subject": "a", "version": 1},
        {"subject": "b", "version": 1},
    ]
    assert ask(registry, "GET", "/schemas/types") == ["AVRO", "JSON", "PROTOBUF"]


def test_deleting_leaves_a_subject_until_it_is_permanent() -> None:
    registry = MemoryRegistry()
    registry.register("a", INT)
    registry.register("a", TEXT)
    assert ask(registry, "DELETE", "/subjects/a/versions/1") == 1
    assert ask(registry, "GET", "/subjects/a/versions") == [2]
    assert ask(registry, "DELETE", "/subjects/a") == [2]
    assert ask(registry, "GET", "/subjects") == []
    assert ask(registry, "GET", "/subjects", deleted="true") == ["a"]
    assert ask(registry, "DELETE", "/subjects/a", permanent="true") == [1, 2]
    assert ask(registry, "GET", "/subjects", deleted="true") == []


@pytest.mark.parametrize(
    ("method", "path", "body", "answer_"),
    [
        ("GET", "/subjects/x/versions", None, (404, 40401)),
        ("GET", "/subjects/a/versions/9", None, (404, 40402)),
        ("GET", "/subjects/a/versions/first", None, (422, 42202)),
        ("POST", "/subjects/a", {"schema": '"long"'}, (404, 40403)),
        ("POST", "/subjects/a/versions", {"schema": '{"type":"recorrd"}'}, (422, 42201)),
        ("POST", "/subjects/a/versions", {"schema": "{", "schemaType": "JSON"}, (422, 42201)),
        ("POST", "/subjects/a/versions", {"schema": "x y", "schemaType": "PROTOBUF"}, (422, 42201)),
        ("PUT", "/config", {"compatibility": "FULL"}, (422, 42203)),
        ("GET", "/nothing", None, (404, 404)),
        ("PATCH", "/subjects", None, (404, 404)),
    ],
)
def test_requests_that_are_refused(
    method: str, path: str, body: Any, answer_: tuple[int, int]
) -> None:
    registry = MemoryRegistry()
    registry.register("a", INT)
    assert refused(registry, method, path, body) == answer_


def test_compatibility_is_none_and_says_so() -> None:
    registry = MemoryRegistry()
    assert ask(registry, "GET", "/config") == {"compatibilityLevel": "NONE"}
    assert ask(registry, "PUT", "/config/a", {"compatibility": "none"}) == {"compatibility": "NONE"}
    path = "/compatibility/subjects/a/versions/latest"
    assert ask(registry, "POST", path, {"schema": '"int"'}) == {"is_compatible": True}
    assert refused(registry, "POST", path, {"schema": '"no type"'}) == (422, 42201)


def test_engine_without_cluster_or_url_has_a_registry_in_memory() -> None:
    assert isinstance(registry_for({"ksql.service.id": "x"}), MemoryRegistry)


def test_engine_with_a_cluster_keeps_schemas_there() -> None:
    """Nothing is asked of the cluster before a schema is."""
    registry = registry_for({"bootstrap.servers": "localhost:1", "sasl.mechanism": "PLAIN"})
    assert isinstance(registry, LogRegistry)
    assert not isinstance(registry, MemoryRegistry)
