"""Entries of the processing log, as JSON: ``model.processing_log``."""

import json
from decimal import Decimal
from typing import Any

from penstock.model.processing_log import EntryType, Origin, ProcessingLogSpec

ORIGIN = Origin("orders", 3, 14, 159, b"k1", b'{"card": "4111"}')
ROW = {"CARD": "4111", "N": 7, "PRICE": Decimal("1.50"), "RAW": b"\xff"}


def error() -> Exception:
    failure = ValueError("cannot read '4111' of 4111")
    failure.__cause__ = KeyError("inner 4111")
    return failure


def entry(kind: EntryType, *, includes_rows: bool, **about: Any) -> dict[str, Any]:
    spec = ProcessingLogSpec("log", "CSAS_A_0", "CREATE STREAM a ...;", includes_rows)
    data = spec.entry(kind, error(), step="Project", time_ms=5, origin=ORIGIN, **about)
    found: dict[str, Any] = json.loads(data)
    return found


def test_message_has_the_shape_that_ksqldb_gives_it() -> None:
    """One of its parts is filled, the others are null."""
    found = entry(EntryType.PROCESSING, includes_rows=True, row=ROW, expression="N / 0")
    assert (found["logger"], found["level"], found["time"]) == (
        "processing.CSAS_A_0.Project", "ERROR", 5,
    )  # fmt: skip
    message = found["message"]
    assert message["type"] == 1
    filled = {name for name, part in message.items() if part is not None}
    assert filled == {"type", "recordProcessingError"}
    part = message["recordProcessingError"]
    assert json.loads(part["record"]) == {"CARD": "4111", "N": 7, "PRICE": "1.50", "RAW": "/w=="}
    assert part["cause"] == ["KeyError: 'inner 4111'"]


def test_beside_it_stands_what_ksqldb_does_not_tell() -> None:
    """The statement, the expression, the reason, and which record it was."""
    found = entry(EntryType.PROCESSING, includes_rows=True, row=ROW, expression="N / 0")
    assert found["statement"] == "CREATE STREAM a ...;"
    assert found["expression"] == "N / 0"
    assert found["reason"] == "ValueError: cannot read '4111' of 4111"
    assert found["origin"] == {
        "topic": "orders", "record_partition": 3, "record_offset": 14, "record_time": 159,
        "record_key": "k1", "record_value": '{"card": "4111"}',
    }  # fmt: skip


def test_without_rows_no_value_of_the_record_is_in_the_entry() -> None:
    """Not even in the text of an error; the place of the record is enough to find it."""
    for kind in EntryType:
        text = json.dumps(entry(kind, includes_rows=False, row=ROW, target="value", topic="orders"))
        assert "4111" not in text
        assert "1.50" not in text
        assert '"record_offset": 14' in text


def test_bytes_that_were_not_read_are_base64() -> None:
    """As in ksqlDB, and only if rows are included."""
    found = entry(EntryType.DESERIALIZATION, includes_rows=True, target="key", topic="orders")
    part = found["message"]["deserializationError"]
    assert part["target"] == "key"
    assert part["recordB64"] == "eyJjYXJkIjogIjQxMTEifQ=="
    hidden = entry(EntryType.DESERIALIZATION, includes_rows=False, target="key", topic="orders")
    assert hidden["message"]["deserializationError"]["recordB64"] is None
