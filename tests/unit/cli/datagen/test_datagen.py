"""Made-up rows: the same for the same seed, in every format.

Exercises ``datagen.generators``, ``datagen.patterns``, ``datagen.quickstarts``, ``schema_file``,
``datagen.row_plan``, ``datagen.sender`` and ``datagen.command``.
"""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.datagen.generators import RowContext
from penstock.cli.datagen.patterns import pattern
from penstock.cli.datagen.quickstarts import QUICKSTARTS, quickstart
from penstock.cli.datagen.row_plan import RowPlan
from penstock.cli.datagen.schema_file import read_schema
from penstock.cli.datagen.sender import RowEncoder, RowSender, paced
from penstock.cli.main import app
from penstock.errors import InvalidArgumentError, PenstockError
from penstock.registry.registry import MemoryRegistry
from penstock.sql import SqlEngine


def rows(plan: RowPlan, count: int, seed: int | None = 1) -> list[dict[str, Any]]:
    return [row for _, row in plan.rows(seed, iter(range(0, count * 1000, 1000)))]


@pytest.mark.parametrize("name", QUICKSTARTS)
def test_seed_gives_the_same_rows(name: str) -> None:
    plan = quickstart(name)
    assert rows(plan, 50) == rows(plan, 50)
    assert rows(plan, 50) != rows(plan, 50, seed=2)


@pytest.mark.parametrize("name", QUICKSTARTS)
@pytest.mark.parametrize("value_format", ["JSON", "AVRO", "PROTOBUF", "JSON_SR"])
def test_rows_are_read_as_their_statement_says(name: str, value_format: str) -> None:
    """The printed CREATE statement fits the bytes that are written."""
    registry = MemoryRegistry()
    plan = quickstart(name)
    engine = SqlEngine(registry=registry)
    engine.execute(plan.create_statement("KAFKA", value_format))
    key_serde, value_serde = engine.serdes(next(iter(engine.sources.values())))
    encoder = RowEncoder(plan, "KAFKA", value_format, registry)
    for row in rows(plan, 20):
        key, value = encoder.encode(row)
        assert key_serde.deserialize(plan.topic, key) == (row[plan.key],)
        read = value_serde.deserialize(plan.topic, value)
        # A text of Protobuf is empty where it is not set.
        null = "" if value_format == "PROTOBUF" else None
        values = (row[column.name] for column in plan.value_columns)
        assert read == tuple(null if value is None else value for value in values)


def test_ids_of_users_fit_together() -> None:
    """So that the quickstarts can be joined."""
    users = {row["USER_ID"] for row in rows(quickstart("users"), 500)}
    assert {row["USER_ID"] for row in rows(quickstart("orders"), 500)} <= users
    assert {row["USER_ID"] for row in rows(quickstart("pageviews"), 500)} <= users


def test_topic_and_key_can_be_chosen() -> None:
    plan = quickstart("orders", topic="mine", key="user_id")
    assert (plan.topic, plan.key_columns[0].name) == ("mine", "USER_ID")
    with pytest.raises(InvalidArgumentError, match="no quickstart"):
        quickstart("nothing")
    with pytest.raises(InvalidArgumentError, match="no column"):
        quickstart("orders", key="nothing")


SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "payments",
    "fields": [
        {"name": "id", "type": {"type": "long",
         "arg.properties": {"iteration": {"start": 10, "step": 5, "restart": 25}}}},
        {"name": "card", "type": {"type": "string", "arg.properties": {"regex": "C_[1-9]\\d{2}"}}},
        {"name": "kind", "type": "string", "arg.properties": {"options": ["a", "b"]}},
        {"name": "n", "type": {"type": "int", "arg.properties": {"range": {"min": 3, "max": 4}}}},
        {"name": "d", "type": "double"},
        {"name": "ok", "type": {"type": "boolean", "arg.properties": {"odds": 1.0}}},
        {"name": "note", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "sum", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5,
         "scale": 2}},
        {"name": "tags", "type": {"type": "array", "items": "string",
         "arg.properties": {"length": 2, "items": {"options": ["t"]}}}},
        {"name": "attributes", "type": {"type": "map", "values": "int",
         "arg.properties": {"keys": {"options": ["k"]}, "length": {"min": 1, "max": 1}}}},
        {"name": "who", "type": {"type": "record", "name": "w", "fields": [
            {"name": "raw", "type": {"type": "bytes", "arg.properties": {"length": 3}}},
            {"name": "colour", "type": {"type": "enum", "name": "c", "symbols": ["red"]}}]}},
    ],
}  # fmt: skip


def test_schema_file_with_hints(tmp_path: Path) -> None:
    file = tmp_path / "p.avsc"
    file.write_text(json.dumps(SCHEMA))
    plan = read_schema(file, None, "card")
    found = rows(plan, 200)
    assert [row["ID"] for row in found[:4]] == [10, 15, 20, 10]
    assert all(re.fullmatch(r"C_[1-9]\d{2}", row["CARD"]) for row in found)
    assert {row["N"] for row in found} == {3, 4}
    assert {row["KIND"] for row in found} == {"a", "b"}
    assert None in {row["NOTE"] for row in found}
    assert found[5]["AT"] == 5000
    assert all(row["OK"] and row["TAGS"] == ["t", "t"] for row in found)
    assert all([*row["ATTRIBUTES"]] == ["k"] for row in found)
    assert len(found[0]["WHO"]["RAW"]) == 3
    assert found[0]["WHO"]["COLOUR"] == "red"
    assert plan.topic == "payments"
    RowEncoder(plan, "KAFKA", "JSON").encode(found[0])
    SqlEngine().execute(plan.create_statement("KAFKA", "JSON"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "not the schema of a record"),
        ('{"type":"record","fields":[{"name":"a"}]}', "not an Avro schema"),
        ('{"type":"record","fields":[{"name":"a","type":"money"}]}', "type 'money' is not known"),
        ('{"type":"record","fields":[{"name":"a","type":["int","string"]}]}', "a union may have"),
    ],
)
def test_bad_schema_files_say_why(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "p.avsc"
    file.write_text(text)
    with pytest.raises(InvalidArgumentError, match=why):
        read_schema(file, None, None)


@pytest.mark.parametrize(
    "expression",
    [
        "User_[1-9]{1}",
        "a|bc|d",
        "(ab)+[x-z]?",
        r"\w\d\s\.",
        "^[0-9a-f]{4,6}$",
        "x{2,}",
        "(?:a|b)*.",
    ],
)
def test_texts_match_their_pattern(expression: str) -> None:
    random = Random(1)
    for number in range(100):
        text = pattern(expression)(RowContext(random, number, 0))
        assert re.fullmatch(expression, text), text


@pytest.mark.parametrize("expression", ["(a", "[", "[^a]", "a{x}", "*a", "a)", "\\"])
def test_patterns_that_are_not_known_are_refused(expression: str) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be used"):
        pattern(expression)


def test_rows_come_at_their_rate() -> None:
    """Time that a row costs is not added to the gap before the next one."""
    now = [100.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    times = []
    for time_ms in paced(5, 2.0, clock=lambda: now[0], sleep=sleep):
        times.append(time_ms)
        now[0] += 0.2
    assert times == [100_000, 100_500, 101_000, 101_500, 102_000]


def test_times_can_be_repeated() -> None:
    assert list(paced(3, None, 1_000)) == [1_000, 1_001, 1_002]
    assert list(itertools.islice(paced(None, 100_000.0, 0), 3)) == [0, 0, 0]


class FakeProducer:
    """Takes records as Kafka's producer does; it is full every third time."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.calls = 0
        self.error: Any = None

    def produce(self, *record: Any, timestamp: int, on_delivery: Callable[..., None]) -> None:
        self.calls += 1
        if self.calls % 3 == 0:
            raise BufferError
        self.records.append((*record, timestamp))
        on_delivery(self.error, None)

    def poll(self, timeout: float) -> int:
        return 0

    def flush(self) -> int:
        return 0


def test_full_producer_loses_no_row() -> None:
    producer: Any = FakeProducer()
    sender = RowSender(producer, "t")
    for number in range(10):
        sender.send(b"k", str(number).encode(), number)
    sender.flush()
    assert sender.written == 10
    assert [record[3] for record in producer.records] == list(range(10))


def test_refused_record_ends_it() -> None:
    from confluent_kafka import KafkaError  # noqa: PLC0415

    producer: Any = FakeProducer()
    producer.error = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    sender = RowSender(producer, "t")
    sender.send(b"k", b"v", 0)
    with pytest.raises(PenstockError, match="write to 't'"):
        sender.flush()


def test_statement_is_printed_without_kafka() -> None:
    done = CliRunner().invoke(app, ["datagen", "users", "--sql", "--format", "avro"])
    assert done.exit_code == 0
    assert "CREATE TABLE users (" in done.output
    assert "USER_ID STRING PRIMARY KEY" in done.output
    assert "VALUE_FORMAT='AVRO'" in done.output


def test_quickstart_or_schema_is_needed() -> None:
    assert CliRunner().invoke(app, ["datagen"]).exit_code == 2
