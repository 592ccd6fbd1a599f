"""Rows over ``/inserts-stream``: both directions at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import orjson
import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.serving.credentials import Access
from penstock.sql.results import OutgoingRecord
from tests.unit.server.query_memory import Call, QueryWorld

STREAM = """
    CREATE STREAM orders (id VARCHAR KEY, amount INT, price DECIMAL(20, 2), data BYTES)
        WITH (KAFKA_TOPIC='orders', PARTITIONS=1, VALUE_FORMAT='JSON');
"""
TARGET = b'{"target": "orders"}\n'


@pytest.fixture
def orders(world: QueryWorld) -> QueryWorld:
    world.execute(STREAM)
    return world


@pytest.mark.parametrize(
    "row", [{"AMOUNT": 3_000_000_000}, {"AMOUNT": 1.5}, {"ROWTIME": True}, {"ROWTIME": 2**63}]
)
def test_numbers_that_do_not_fit_are_refused(orders: QueryWorld, row: dict[str, Any]) -> None:
    """ksqlDB refuses to coerce them; they must not be cut and acknowledged."""
    body = TARGET + orjson.dumps({"ID": "a", **row}) + b"\n"
    _, (answer,) = exchanged(orders, body)
    assert (answer["status"], answer["error_code"]) == ("error", 40000)
    assert "does not fit" in answer["message"]
    assert orders.topics.partitions["orders"] == [[]]


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))  # type: ignore[arg-type]


def exchanged(world: QueryWorld, body: bytes, accept: str = "", **scope: Any) -> tuple[int, Any]:
    found: list[Any] = []

    async def test() -> None:
        headers = {"accept": accept} if accept else {}
        call = Call(world, "/inserts-stream", body, headers, **scope)
        text = await call.text()
        found.extend((call.status, text))

    run(test)
    status, text = found
    if accept or status != 200:
        return status, orjson.loads(text)
    return status, [orjson.loads(line) for line in text.splitlines()]


def values(world: QueryWorld) -> list[Any]:
    (records,) = world.topics.partitions["orders"]
    return [orjson.loads(record.value or b"null") for record in records]


def test_each_row_is_acknowledged_while_more_may_come(orders: QueryWorld) -> None:
    """The request is still open when the first acknowledgement comes."""

    async def test() -> None:
        call = Call(orders, "/inserts-stream", None)
        call.send(TARGET)
        call.send(b'{"id": "a", "amount": 1}\n{"ID": "b", ')
        assert await call.until(b"\n") == b'{"status":"ok","seq":0}\n'
        call.send(b'"AMOUNT": 2}\n', more=False)
        assert await call.text() == b'{"status":"ok","seq":1}\n'
        assert [row["AMOUNT"] for row in values(orders)] == [1, 2]

    run(test)


def test_acknowledgements_can_be_one_array(orders: QueryWorld) -> None:
    """With ``application/json`` the answer is valid JSON."""
    body = TARGET + b'{"id": "a"}\n{"id": "b"}\n'
    _, acks = exchanged(orders, body, "application/json")
    assert sorted(ack["seq"] for ack in acks) == [0, 1]


def test_values_are_read_by_the_types_of_columns(orders: QueryWorld) -> None:
    """Decimals keep all digits, bytes come as base64, and names may be quoted."""
    row = b'{"`ID`": "a", "price": 123456789012345678.25, "data": "aGk=", "amount": null}\n'
    _, acks = exchanged(orders, TARGET + row)
    assert acks == [{"status": "ok", "seq": 0}]
    (record,) = orders.topics.partitions["orders"][0]
    assert Decimal("123456789012345678.25") == Decimal(
        (record.value or b"").split(b'"PRICE":')[1].split(b",")[0].decode()
    )
    assert b'"DATA":"aGk="' in (record.value or b"")


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"id": "\xff"}', "not JSON"),
        (b'{"id": "b", "nothing": 1}', "no column NOTHING"),
        (b'{"id": "b", "amount": "x"}', "column AMOUNT is INTEGER"),
        (b'{"amount": 1}', "key column ID"),
    ],
)
def test_a_wrong_row_ends_the_stream(orders: QueryWorld, row: bytes, word: str) -> None:
    """Rows before it are written and acknowledged first; the error has its number."""
    _, acks = exchanged(orders, TARGET + b'{"id": "a"}\n' + row + b'\n{"id": "c"}\n')
    assert acks[0] == {"status": "ok", "seq": 0}
    assert acks[1]["status"] == "error"
    assert acks[1]["seq"] == 1
    assert word in acks[1]["message"]
    assert len(values(orders)) == 1


def test_what_kafka_refuses_is_told(orders: QueryWorld) -> None:
    """The error names the row."""
    orders.sender.error = "too large"
    _, acks = exchanged(orders, TARGET + b'{"id": "a"}\n')
    assert acks[0]["status"] == "error"
    assert "too large" in acks[0]["message"]


@pytest.mark.parametrize(
    ("raised", "word"),
    [
        (KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large")), "too large"),
        (BufferError("the queue is full"), "queue is full"),
        (RuntimeError("nobody expected it"), "RuntimeError"),
    ],
)
def test_row_that_cannot_be_sent_is_told(
    orders: QueryWorld, monkeypatch: pytest.MonkeyPatch, raised: Exception, word: str
) -> None:
    """Rows before it are acknowledged; a row that is lost is never passed over in silence."""
    send = orders.sender.send

    def failing(record: OutgoingRecord, done: Callable[[Any], None]) -> None:
        if record.key == b"b":
            raise raised
        send(record, done)

    monkeypatch.setattr(orders.sender, "send", failing)
    _, acks = exchanged(orders, TARGET + b'{"id": "a"}\n{"id": "b"}\n{"id": "c"}\n')
    assert acks[0] == {"status": "ok", "seq": 0}
    assert (acks[1]["status"], acks[1]["seq"], len(acks)) == ("error", 1, 2)
    assert word in acks[1]["message"]


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (b"{}\n", 40000),
        (b'{"a":' * 5_000, 40000),
        (b"", 40000),
        (b'{"target": "nothing"}\n', 40001),
    ],
)
def test_a_wrong_target_is_an_error_of_http(orders: QueryWorld, first: bytes, code: int) -> None:
    """Nothing has been answered yet, so the status can say it."""
    status, error = exchanged(orders, first)
    assert status == 400
    assert error["error_code"] == code


def test_inserting_needs_the_role_write(orders: QueryWorld) -> None:
    """A caller that may only read is refused."""
    status, error = exchanged(orders, TARGET, **{"penstock.access": Access.READ})
    assert status == 403
    assert error["error_code"] == 40300


def test_a_client_that_leaves_loses_nothing_that_was_acknowledged(orders: QueryWorld) -> None:
    """The stream just ends."""

    async def test() -> None:
        call = Call(orders, "/inserts-stream", None)
        call.send(TARGET + b'{"id": "a", "amount": 1}\n')
        await call.until(b"\n")
        call.leave()
        await asyncio.wait_for(call.task, 20)
        assert len(values(orders)) == 1

    run(test)
