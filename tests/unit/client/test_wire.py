"""Requests and answers as bytes, without a connection.

Exercises ``client.wire``, ``client.inserts``, ``statement_text``, ``client.operations``,
``client.descriptions``, ``client.options`` and ``client.errors``.
"""

import json
import pickle
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest

from penstock.client import wire
from penstock.client.descriptions import FieldInfo, ServerInfo, type_text
from penstock.client.errors import ClientError, InsertError, RequestRefusedError, refusal
from penstock.client.exchange import RowReader
from penstock.client.inserts import InsertAck, acks_of, json_row
from penstock.client.operations import StatementResult, describe_source, list_streams
from penstock.client.options import ClientOptions
from penstock.client.statement_text import assert_schema, assert_topic, identifier
from penstock.errors import InvalidArgumentError

REQUEST = wire.query("SELECT 1;", {}, {})


def test_lines_may_arrive_in_pieces() -> None:
    lines = wire.Lines()
    assert lines.feed(b'{"a"') == []
    assert lines.feed(b":1}\n\n[2") == [b'{"a":1}']
    assert lines.end() == [b"[2"]
    assert lines.end() == []


def test_row_that_is_cut_anywhere_is_read_once() -> None:
    """Every cut of the same bytes gives the same rows."""
    text = b'{"columnNames":["A"],"columnTypes":["STRING"]}\n["x"]\n["\xc3\xa9"]\n'
    for cut in range(len(text)):
        reader = RowReader(REQUEST)
        rows = [*reader.feed(text[:cut]), *reader.feed(text[cut:]), *reader.end()]
        assert [row[0] for row in rows] == ["x", "é"]


@pytest.mark.parametrize("text", [b"", b"[1]\n", b"nonsense\n"])
def test_answer_without_columns_is_an_error(text: bytes) -> None:
    reader = RowReader(REQUEST)
    with pytest.raises(ClientError, match="answer"):
        _ = [*reader.feed(text), *reader.end()]


def test_answer_that_is_not_json_is_said_so() -> None:
    with pytest.raises(ClientError, match="is not JSON") as raised:
        wire.parsed(200, b"<html>", wire.get("/info"))
    assert raised.value.code == "bad-answer"
    with pytest.raises(RequestRefusedError, match="gateway"):
        wire.parsed(502, b"bad gateway", wire.get("/info"))
    assert wire.parsed(200, b"", wire.get("/info")) is None


def test_error_keeps_everything_when_it_is_pickled() -> None:
    error = refusal(400, {"error_code": 40001, "message": "line 2:3: no", "entities": [{}]})
    copy = pickle.loads(pickle.dumps(error))
    assert copy.message == "no"
    assert (copy.place, copy.error_code, copy.entities) == ((2, 3), 40001, ({},))
    insert = InsertError("bad-request", "no", None, "row 3", 3, 40000)
    assert pickle.loads(pickle.dumps(insert)).seq == 3


def test_numbers_that_json_has_not_are_texts() -> None:
    """As the server writes them in rows; NaN must not become NULL on its way."""
    row = json_row({"a": float("nan"), "b": [float("inf"), -float("inf"), 1.5]})
    assert row == {"a": "NaN", "b": ["Infinity", "-Infinity", 1.5]}


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (40004, "http2-only"),
        (50301, "not-caught-up"),
        (50302, "server-not-ready"),
        (50303, "server-shutting-down"),
        (50304, "server-shut-down"),
    ],
)
def test_numbers_mean_what_the_server_means(number: int, code: str) -> None:
    """A damaged command topic is no server that ends, and one that is late is not damaged."""
    assert refusal(number // 100, {"error_code": number, "message": "no"}).code == code


def test_message_of_the_server_is_cut_into_its_parts() -> None:
    """Penstock's own server sends its code, the place and the fix in one text."""
    message = (
        "[unexpected-token] unexpected 'FORM'\n  at:  line 1, column 10\n"
        "       SELECT * FORM a;\n                ^^^^\n  fix: use FROM\n  fix: use FROM"
    )
    error = refusal(400, {"error_code": 40001, "message": message}, "SELECT * FORM a;")
    assert (error.code, error.message, error.fix, error.place) == (
        "unexpected-token", "unexpected 'FORM'", "use FROM", (1, 10),
    )  # fmt: skip
    assert str(error).splitlines() == [
        "[unexpected-token] unexpected 'FORM'",
        "  statement: SELECT * FORM a;",
        "  fix: use FROM",
    ]
    assert refusal(503, None).message == "the server answered with status 503"


def test_values_of_rows_become_json() -> None:
    zone = timezone(timedelta(hours=2))
    row = {
        "a": b"\x01",
        "b": Decimal("1.50"),
        "c": datetime(2024, 1, 1, 2, tzinfo=zone),
        "d": date(2024, 1, 1),
        "e": time(1, 2),
        "f": {"x": (1, None)},
        "g": datetime(2024, 1, 1, tzinfo=UTC),
    }
    assert json_row(row) == {
        "a": "AQ==",
        "b": "1.50",
        "c": "2024-01-01T00:00:00.000",
        "d": "2024-01-01",
        "e": "01:02:00",
        "f": {"x": [1, None]},
        "g": "2024-01-01T00:00:00.000",
    }


def test_values_that_sql_does_not_have_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"column a\.b: object"):
        json_row({"a": {"b": object()}})
    with pytest.raises(InvalidArgumentError, match="not list"):
        json_row(["a"])  # type: ignore[arg-type]


def test_missing_acknowledgement_is_an_error() -> None:
    """A row of which the server says nothing may not count as written."""
    acks = [b'{"status":"ok","seq":1}', b'{"status":"ok","seq":0}']
    assert acks_of(acks, 10, 2) == [InsertAck(10), InsertAck(11)]
    with pytest.raises(ClientError, match="1 of 2 rows, from row 4"):
        acks_of(acks[:1], 4, 2)


def test_names_are_quoted_only_where_they_must_be() -> None:
    assert [identifier(name) for name in ("a", "`A b`", "a`b")] == ["a", "`A b`", "`a``b`"]
    with pytest.raises(InvalidArgumentError):
        identifier("")


def test_assertions_escape_their_texts() -> None:
    assert assert_topic("it's", {}, exists=True, timeout=None) == "ASSERT TOPIC 'it''s';"
    with pytest.raises(InvalidArgumentError, match="subject"):
        assert_schema(None, None, exists=True, timeout=None)


def test_types_of_descriptions_are_written_as_sql_has_them() -> None:
    inner = {"name": "N", "schema": {"type": "DECIMAL", "parameters": {"precision": 4, "scale": 1}}}
    schema = {"type": "MAP", "memberSchema": {"type": "STRUCT", "fields": [inner]}}
    assert type_text(schema) == "MAP<STRING, STRUCT<`N` DECIMAL(4, 1)>>"
    header = FieldInfo.of({"name": "H", "schema": {"type": "BYTES"}, "type": "HEADER"})
    assert (header.is_header, header.is_key) == (True, False)


def test_answers_without_what_was_asked_are_errors() -> None:
    with pytest.raises(ClientError, match="has no 'streams'"):
        list_streams().read([{"@type": "tables"}])
    with pytest.raises(ClientError, match="sourceDescription"):
        describe_source("my-stream").read([])
    assert describe_source("my-stream").sql == "DESCRIBE `my-stream`;"


def test_result_of_a_statement_without_a_command_has_no_sequence() -> None:
    entity = {"@type": "currentStatus", "commandSequenceNumber": -1, "warnings": [{"message": "w"}]}
    result = StatementResult.of(entity)
    assert (result.sequence, result.warnings) == (None, ("w",))


def test_request_paths_are_escaped() -> None:
    assert wire.valid_property("a/b").path == "/is_valid_property/a%2Fb"
    assert wire.command_status("stream/A B/create").path == "/status/stream/A%20B/create"
    body = wire.inserts("t", [{"a": 1}]).body or b""
    assert [json.loads(line) for line in body.splitlines()] == [{"target": "t"}, {"a": 1}]


def test_passwords_are_not_shown() -> None:
    options = ClientOptions(user="ann", password="geheim")
    assert "geheim" not in repr(options)
    assert ServerInfo.of({"version": "1"}).version == "1"
