"""Push queries: ``push.service``, ``push.runs``, ``push.shared_reader``, ``push.catch_up`` and
``push.subscription``."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from penstock.errors import PenstockError, StreamsError
from penstock.registry.registry import LogRegistry
from penstock.registry.schemas import RegistryUnavailableError
from penstock.server import reading
from penstock.server.push.service import CONTINUATION, TOKENS_ENABLED, OpenPush
from tests.unit.server.query_memory import QueryWorld

ORDERS = """
    CREATE STREAM orders (id VARCHAR KEY, amount INT)
        WITH (KAFKA_TOPIC='orders', PARTITIONS=1, VALUE_FORMAT='JSON');
"""
EARLIEST = {"auto.offset.reset": "earliest"}


def add(world: QueryWorld, key: str, amount: int | None, time: int = 0) -> None:
    value = None if amount is None else orjson.dumps({"AMOUNT": amount})
    world.topics.add("orders", key.encode(), value, time)


async def opened(
    world: QueryWorld, sql: str, properties: dict[str, Any] | None = None, **request: str
) -> OpenPush:
    push = world.services.push
    planned = push.plan(sql, properties or {}, {}, request)
    return await asyncio.to_thread(push.open, planned, asyncio.get_running_loop())


async def take(query: OpenPush, count: int) -> list[Any]:
    """Return so many rows of a query; deleted ones have ``None`` in front."""
    found: list[Any] = []
    async with asyncio.timeout(20):
        if count:
            async for delivery in query.subscription.deliveries(5):
                if delivery is not None:
                    chosen = delivery.batch.rows[delivery.first : delivery.last]
                    found += [(None, *r.columns) if r.is_deleted else r.columns for r in chosen]
                if len(found) >= count:
                    break
    return found


def run(world: QueryWorld, test: Callable[[], Awaitable[None]]) -> None:
    """Run a test on an event loop; afterwards nothing of its queries may be left."""

    async def all_of_it() -> None:
        try:
            await test()
        finally:
            for query in world.services.push.all():
                await asyncio.to_thread(world.services.push.close, query)

    asyncio.run(all_of_it())
    world.services.push.close_all()
    names = [thread.name for thread in threading.enumerate()]
    assert [name for name in names if name.startswith(("penstock-push", "penstock-catch"))] == []


def test_subscribers_of_a_topic_share_one_reader(world: QueryWorld) -> None:
    """However many queries follow a topic, it is read once."""
    world.execute(ORDERS)

    async def test() -> None:
        queries = [
            await opened(world, f"SELECT id, amount * {n} AS m FROM orders EMIT CHANGES;")
            for n in (1, 2, 2)
        ]
        add(world, "a", 5)
        assert [await take(query, 1) for query in queries] == [
            [("a", 5)], [("a", 10)], [("a", 10)],
        ]  # fmt: skip
        assert world.topics.opened == [frozenset({"orders"})]

    run(world, test)


def test_rows_of_the_same_query_are_made_once(world: QueryWorld) -> None:
    """Subscribers of one statement share the rows, and so the JSON."""
    world.execute(ORDERS)

    async def test() -> None:
        sql = "SELECT * FROM orders WHERE amount > 1 EMIT CHANGES;"
        queries = [await opened(world, sql) for _ in range(2)]
        add(world, "a", 5)
        batches = []
        for query in queries:
            async for delivery in query.subscription.deliveries(20):
                assert delivery is not None
                batches.append(delivery.batch)
                break
        assert batches[0] is batches[1]

    run(world, test)


def test_latest_begins_at_the_end_and_earliest_at_the_beginning(world: QueryWorld) -> None:
    """A query from the beginning reads alone, then joins the shared reader."""
    world.execute(ORDERS)
    add(world, "a", 1)

    async def test() -> None:
        sql = "SELECT amount FROM orders EMIT CHANGES;"
        late, early = await opened(world, sql), await opened(world, sql, EARLIEST)
        assert await take(early, 1) == [(1,)]
        add(world, "a", 2)
        assert await take(late, 1) == [(2,)]
        assert await take(early, 1) == [(2,)]
        assert late.id.startswith("SCALABLE_PUSH_QUERY_")
        assert early.id.startswith("transient_ORDERS_")

    run(world, test)


def test_aggregates_run_in_this_process(world: QueryWorld) -> None:
    """The kernel counts; there is no Spark job, and no topic is made."""
    world.execute(ORDERS)

    async def test() -> None:
        sql = "SELECT id, SUM(amount) AS s FROM orders GROUP BY id EMIT CHANGES;"
        query = await opened(world, sql, EARLIEST)
        for key, amount in (("a", 1), ("b", 5), ("a", 2)):
            add(world, key, amount)
        assert await take(query, 3) == [("a", 1), ("b", 5), ("a", 3)]
        assert set(world.topics.partitions) == {"orders"}

    run(world, test)


def test_groups_by_other_columns_are_repartitioned_in_memory(world: QueryWorld) -> None:
    """Several partitions have a task each, as on a cluster."""
    world.execute(ORDERS.replace("PARTITIONS=1", "PARTITIONS=3"), partitions=3)

    async def test() -> None:
        sql = "SELECT amount, COUNT(*) AS n FROM orders GROUP BY amount EMIT CHANGES;"
        query = await opened(world, sql)
        for key in "abcdef":
            add(world, key, 7)
        assert (await take(query, 6))[-1] == (7, 6)

    run(world, test)


def test_joins_follow_several_topics(world: QueryWorld) -> None:
    """Each topic has its own reader; from the beginning records come in the order of time."""
    world.execute(ORDERS)
    world.execute("""
        CREATE TABLE users (id VARCHAR PRIMARY KEY, name VARCHAR)
            WITH (KAFKA_TOPIC='users', PARTITIONS=1, VALUE_FORMAT='JSON');""")
    add(world, "a", 1, 10)
    world.topics.add("users", b"a", b'{"NAME": "Ann"}', 5)

    async def test() -> None:
        sql = "SELECT o.id, name, amount FROM orders o JOIN users u ON o.id = u.id EMIT CHANGES;"
        query = await opened(world, sql, EARLIEST)
        assert await take(query, 1) == [("a", "Ann", 1)]
        world.topics.add("users", b"a", b'{"NAME": "Eve"}', 20)
        await asyncio.sleep(0.5)
        add(world, "a", 2, 30)
        assert await take(query, 1) == [("a", "Eve", 2)]

    run(world, test)


def test_a_limit_ends_a_query(world: QueryWorld) -> None:
    """So does LIMIT 0, before anything is read."""
    world.execute(ORDERS)

    async def test() -> None:
        query = await opened(world, "SELECT amount FROM orders EMIT CHANGES LIMIT 2;")
        none = await opened(world, "SELECT amount FROM orders EMIT CHANGES LIMIT 0;")
        for amount in range(5):
            add(world, "a", amount)
        assert await take(query, 2) == [(0,), (1,)]
        assert query.subscription.is_complete
        assert none.subscription.is_complete
        assert [each async for each in none.subscription.deliveries(5)] == []

    run(world, test)


def test_deleted_rows_of_a_table_are_told(world: QueryWorld) -> None:
    """A tombstone becomes a row with the key; a record without a key is no row of a table."""
    world.execute("""
        CREATE TABLE users (id VARCHAR PRIMARY KEY, name VARCHAR)
            WITH (KAFKA_TOPIC='users', PARTITIONS=1, VALUE_FORMAT='JSON');""")

    async def test() -> None:
        query = await opened(world, "SELECT * FROM users EMIT CHANGES;")
        world.topics.add("users", None, b'{"NAME": "Nobody"}')
        world.topics.add("users", b"a", b'{"NAME": "Ann"}')
        world.topics.add("users", b"a", None)
        assert await take(query, 2) == [("a", "Ann"), (None, "a", None)]

    run(world, test)


def test_a_query_goes_on_after_its_token(world: QueryWorld) -> None:
    """Nothing is lost between two connections, and nothing before the token comes again."""
    world.execute(ORDERS)

    async def test() -> None:
        sql = "SELECT amount FROM orders EMIT CHANGES;"
        first = await opened(world, sql, {TOKENS_ENABLED: "true"})
        assert first.planned.sends_tokens
        add(world, "a", 1)
        assert await take(first, 1) == [(1,)]
        token = first.token
        await asyncio.to_thread(world.services.push.close, first)
        add(world, "a", 2)
        second = await opened(world, sql, **{CONTINUATION: token})
        assert await take(second, 1) == [(2,)]

    run(world, test)


def test_a_query_with_state_goes_on_with_its_state(world: QueryWorld) -> None:
    """Its records are read again from its beginning; only new rows are sent."""
    world.execute(ORDERS)

    async def test() -> None:
        sql = "SELECT id, SUM(amount) AS s FROM orders GROUP BY id EMIT CHANGES;"
        first = await opened(world, sql, EARLIEST)
        add(world, "a", 1)
        add(world, "a", 2)
        assert (await take(first, 2))[-1] == ("a", 3)
        token = first.token
        await asyncio.to_thread(world.services.push.close, first)
        add(world, "a", 4)
        second = await opened(world, sql, **{CONTINUATION: token})
        assert await take(second, 1) == [("a", 7)]

    run(world, test)


def test_the_server_has_a_limit_of_push_queries(tmp_path: Path) -> None:
    """The query that is one too many is refused; a place becomes free when one ends."""
    world = QueryWorld(tmp_path, {"ksql.max.push.queries": "1"})
    world.execute(ORDERS)

    async def test() -> None:
        sql = "SELECT * FROM orders EMIT CHANGES;"
        first = await opened(world, sql)
        with pytest.raises(PenstockError, match=r"ksql\.max\.push\.queries is 1"):
            await opened(world, sql)
        await asyncio.to_thread(world.services.push.close, first)
        await opened(world, sql)

    run(world, test)
    world.close()


@pytest.mark.parametrize(
    "failure", [StreamsError("topic-gone", "it was deleted"), RuntimeError("the client is broken")]
)
def test_a_topic_that_is_gone_ends_its_queries(world: QueryWorld, failure: Exception) -> None:
    """Subscribers hear why, whatever it is; the next one gets a new reader."""
    world.execute(ORDERS)

    async def test() -> None:
        sql = "SELECT amount FROM orders EMIT CHANGES;"
        query = await opened(world, sql)
        world.topics.readers[0].failure = failure
        with world.topics.changed:
            world.topics.changed.notify_all()
        assert await take(query, 1) == []
        assert query.subscription.failure is not None
        again = await opened(world, sql)
        add(world, "a", 1)
        assert await take(again, 1) == [(1,)]

    run(world, test)


def test_a_registry_that_cannot_be_reached_ends_a_query(
    world: QueryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No record is at fault, so none is skipped; the client can ask again."""
    world.execute(ORDERS.replace("JSON", "AVRO"))

    def away(registry: LogRegistry, schema_id: int) -> None:
        raise RegistryUnavailableError("registry-unavailable", f"no answer about {schema_id}")

    monkeypatch.setattr(LogRegistry, "by_id", away)

    async def test() -> None:
        query = await opened(world, "SELECT amount FROM orders EMIT CHANGES;")
        world.topics.add("orders", b"a", b"\0\0\0\0\x63\2\2")
        assert await take(query, 1) == []
        assert "no answer about 99" in str(query.subscription.failure)

    run(world, test)


def test_new_partitions_end_queries_that_do_not_read_them(
    world: QueryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their rows would be missing without a word. The next query reads all partitions."""
    monkeypatch.setattr(reading, "_WATCH_S", 0.0)
    world.execute(ORDERS)

    async def test() -> None:
        sql = "SELECT amount FROM orders EMIT CHANGES;"
        query = await opened(world, sql)
        world.topics.partitions["orders"].append([])
        assert await take(query, 1) == []
        assert "2 partitions now, and had 1" in str(query.subscription.failure)
        again = await opened(world, sql)
        for key in "abcdef":
            add(world, key, 1)
        assert all(world.topics.partitions["orders"])
        assert await take(again, 6) == [(1,)] * 6

    run(world, test)


def test_a_subscriber_that_takes_nothing_is_cut_off(
    world: QueryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets what waits for it, and the reason; others go on."""
    monkeypatch.setattr("penstock.server.push.subscription.MOST_WAITING", 2)
    world.execute(ORDERS)

    async def test() -> None:
        sql = "SELECT amount FROM orders EMIT CHANGES;"
        slow = await opened(world, sql)
        for amount in range(10):
            add(world, "a", amount)
            await asyncio.sleep(0.05)
        rows = await take(slow, 100)
        assert rows[:3] == [(0,), (1,), (2,)]
        assert len(rows) < 10
        assert slow.subscription.failure is not None
        assert slow.subscription.failure.code == "too-slow"

    run(world, test)


def test_one_that_catches_up_is_waited_for(
    world: QueryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader of its own stops while the client does not take its rows."""
    monkeypatch.setattr("penstock.server.push.subscription.MOST_WAITING", 4)
    world.execute(ORDERS)
    for amount in range(50):
        add(world, "a", amount)

    async def test() -> None:
        query = await opened(world, "SELECT amount FROM orders EMIT CHANGES;", EARLIEST)
        assert len(await take(query, 50)) == 50
        assert query.subscription.failure is None

    run(world, test)


def test_close_query_ends_a_query_by_its_id(world: QueryWorld) -> None:
    """Its rows end; an unknown id is told."""
    world.execute(ORDERS)

    async def test() -> None:
        query = await opened(world, "SELECT amount FROM orders EMIT CHANGES;")
        assert world.services.push.end(query.id)
        assert await take(query, 1) == []
        assert not world.services.push.end("nobody")

    run(world, test)


def test_a_query_that_fails_tells_why(world: QueryWorld) -> None:
    """A topic that does not exist is an error before anything is sent."""
    world.execute(ORDERS)
    del world.topics.partitions["orders"]

    async def test() -> None:
        with pytest.raises(PenstockError, match="there is no topic"):
            await opened(world, "SELECT amount FROM orders EMIT CHANGES;")
        assert world.services.push.all() == []

    run(world, test)
