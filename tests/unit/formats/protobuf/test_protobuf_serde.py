"""Protobuf for programs of the DSL: messages of generated classes, and dicts.

Exercises ``message_path``, ``protobuf_codec``, ``protobuf_text`` and ``protobuf_values``.
"""

import pickle
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from penstock import ProtobufSerde
from penstock.registry.registries import registry_of
from penstock.registry.registry import Schema
from tests.unit.formats.protobuf.generated import Line, NewerOrder, Note, Order

_scopes = count()
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


def fresh(**more: Any) -> dict[str, Any]:
    return {"schema.registry.url": f"mock://protobuf-serde-{next(_scopes)}", **more}


def order() -> Any:
    made = Order(id=5, lines=[Line(sku="pen", pieces=2)])
    made.at.seconds = 1_700_000_000
    return made


def test_message_of_a_generated_class_comes_back_as_it_was() -> None:
    serde = ProtobufSerde(Order).configure(fresh())
    found = serde.deserialize("orders", serde.serialize("orders", order()))
    assert (type(found), found) == (Order, order())


@pytest.mark.parametrize(
    ("cls", "place"), [(Order, b"\x02\x02"), (Note, b"\x04\x02\x00"), (Line, b"\x00")]
)
def test_place_of_the_message_stands_before_it(cls: Any, place: bytes) -> None:
    """The second of a file, one inside another, and the first, which has a short form."""
    serde = ProtobufSerde(cls).configure(fresh())
    data = serde.serialize("t", cls())
    assert data is not None
    assert data[5:] == place
    assert serde.deserialize("t", data) == cls()


def test_imported_files_are_registered_under_their_names() -> None:
    """Files that every registry knows are not."""
    settings = fresh()
    ProtobufSerde(Order).configure(settings).serialize("orders", order())
    registry = registry_of(settings)
    assert registry.subjects() == ["orders-value", "penstock_test_line.proto"]
    latest = registry.latest("orders-value")
    assert latest is not None
    assert [(r.name, r.subject, r.version) for r in latest.schema.references] == [
        ("penstock_test_line.proto", "penstock_test_line.proto", 1)
    ]


def test_lookup_finds_what_was_registered_before() -> None:
    settings = fresh()
    data = ProtobufSerde(Order).configure(settings).serialize("orders", order())
    strict = ProtobufSerde(Order).configure({**settings, "auto.register.schemas": False})
    assert strict.serialize("orders", order()) == data


def test_fields_are_read_by_number() -> None:
    """A newer class has its defaults, an older one leaves out what it does not know."""
    settings = fresh()
    old, new = (
        ProtobufSerde(Order).configure(settings),
        ProtobufSerde(NewerOrder).configure(settings),
    )
    assert new.deserialize("orders", old.serialize("orders", order())).currency == ""
    # The first message of the newer file: its place is read from its own schema.
    data = new.serialize("orders", NewerOrder(id=7, currency="EUR"))
    assert old.deserialize("orders", data).id == 7


def test_class_travels_to_workers_by_its_module() -> None:
    serde = ProtobufSerde(Order).configure(fresh())
    copy = pickle.loads(pickle.dumps(serde))
    assert copy == serde
    assert copy.deserialize("t", serde.serialize("t", order())) == order()


TEXT = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
enum Status { OPEN = 0; PAID = 1; }
message Order {
  int64 id = 1;
  Status status = 2;
  repeated Line lines = 3;
  map<string, Line> by_name = 4;
  google.protobuf.Timestamp at = 5;
  google.protobuf.Duration took = 6;
  google.protobuf.StringValue note = 7;
  google.protobuf.Struct extra = 8;
  optional int32 discount = 9;
  bytes raw = 10;
  oneof payment { string card = 11; int64 cash = 12; }
  Order parent = 13;
  repeated Status history = 14;
  message Line { string sku = 1; uint64 pieces = 2; }
}
message Refund { int64 id = 1; }
"""
LINE = {"sku": "pen", "pieces": 2**63}
FULL: dict[str, Any] = {
    "id": 5, "status": "PAID", "lines": [LINE], "by_name": {"a": LINE}, "at": MOMENT,
    "took": timedelta(seconds=-1, milliseconds=-500), "note": "", "extra": {"a": [1.0, None]},
    "discount": 0, "raw": b"\x00\xff", "card": None, "cash": 0, "parent": None,
    "history": ["OPEN", "PAID"],
}  # fmt: skip
EMPTY: dict[str, Any] = {
    "id": 0, "status": "OPEN", "lines": [], "by_name": {}, "at": None, "took": None, "note": None,
    "extra": None, "discount": None, "raw": b"", "card": None, "cash": None, "parent": None,
    "history": [],
}  # fmt: skip


@pytest.mark.parametrize("value", [FULL, EMPTY, {**EMPTY, "parent": {**EMPTY, "id": 3}}])
def test_dict_comes_back_as_it_was(value: dict[str, Any]) -> None:
    """With everything that Protobuf has names for, and None where it can tell."""
    serde = ProtobufSerde(TEXT).configure(fresh())
    assert serde.deserialize("orders", serde.serialize("orders", value)) == value


def test_members_that_are_left_out_have_their_defaults() -> None:
    serde = ProtobufSerde(TEXT).configure(fresh())
    assert serde.deserialize("orders", serde.serialize("orders", {})) == EMPTY


def test_message_is_chosen_by_name() -> None:
    serde = ProtobufSerde(TEXT, "shop.Refund").configure(fresh())
    data = serde.serialize("refunds", {"id": 1})
    assert data == b"\0\0\0\0\1\x02\x02\x08\x01"
    assert serde.deserialize("refunds", data) == {"id": 1}


def test_serde_without_schema_reads_every_message_of_a_topic() -> None:
    """Each record says which message it is."""
    settings = fresh()
    for name, value in (("shop.Order", EMPTY), ("shop.Refund", {"id": 1})):
        data = ProtobufSerde(TEXT, name).configure(settings).serialize("t", value)
        assert ProtobufSerde().configure(settings).deserialize("t", data) == value


def test_enum_number_without_a_name_stays_a_number() -> None:
    """The writer has a newer schema."""
    settings = fresh()
    newer = TEXT.replace("PAID = 1;", "PAID = 1; SENT = 2;")
    data = ProtobufSerde(newer).configure(settings).serialize("t", {"status": "SENT"})
    found = ProtobufSerde(TEXT).configure(settings).deserialize("t", data)
    assert found == {**EMPTY, "status": 2}


@pytest.mark.parametrize(
    "value",
    [{"unknown": 1}, {"id": "five"}, {"id": 2**63}, {"status": "GONE"}, {"lines": [{"sku": 1}]},
     {"at": datetime(2026, 1, 2)}, {"lines": 5}],
)  # fmt: skip
def test_value_that_does_not_fit_is_a_value_error(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not a shop\.Order"):
        ProtobufSerde(TEXT).configure(fresh()).serialize("orders", value)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [(b"\x00\xff", "not Protobuf of the schema"), (b"\x02\x08", "no message number"),
     (b"\x02", "which message"), (b"", "which message")],
)  # fmt: skip
@pytest.mark.parametrize("schema", [TEXT, Order])
def test_broken_bytes_are_value_errors(schema: Any, payload: bytes, reason: str) -> None:
    settings = fresh()
    registry_of(settings).register("t-value", Schema("PROTOBUF", TEXT))
    with pytest.raises(ValueError, match=reason):
        ProtobufSerde(schema).configure(settings).decode(b"\0\0\0\0\1" + payload)


def test_message_of_another_class_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="takes Order, got Line"):
        ProtobufSerde(Order).configure(fresh()).serialize("orders", Line())


def test_newest_schema_without_the_message_is_refused() -> None:
    settings = fresh(**{"use.latest.version": True})
    registry_of(settings).register("orders-value", Schema("PROTOBUF", TEXT))
    with pytest.raises(ValueError, match=r"no message 'penstock\.test\.Order'"):
        ProtobufSerde(Order).configure(settings).serialize("orders", order())
