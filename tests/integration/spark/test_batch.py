"""A topology as a transformation of DataFrames.

Exercises ``penstock.runtime.spark.history.batch``, ``penstock.runtime.spark.history.inputs``,
``penstock.runtime.spark.history.passes``, ``penstock.runtime.spark.history.result`` and
``penstock.runtime.spark.history.values``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import penstock as ps
from penstock import BatchInput, run_batch
from penstock.errors import InvalidArgumentError
from tests.integration.spark.versions import needs_spark

pytestmark = [pytest.mark.spark, needs_spark("4.1", "run_batch")]

ORDERS = [
    (f"u{n % 5}", f"p{n % 3}", float(n), datetime.fromtimestamp(1_700_000_000 + n * 7, UTC))
    for n in range(60)
]
USERS = [(f"u{n}", f"name {n}", 1_700_000_000_000 + n * 50_000) for n in range(5)]


@pytest.fixture
def orders(spark: Any) -> Any:
    return spark.createDataFrame(ORDERS, "user string, product string, amount double, at timestamp")


@pytest.fixture
def users(spark: Any) -> Any:
    return spark.createDataFrame(USERS, "id string, name string, since bigint")


def shop() -> ps.Topology:
    """A join with a table, new keys behind it, windows, and a table of all products."""
    builder = ps.StreamsBuilder()
    names = builder.table("users", key=str, value="json")
    stream = builder.stream("orders", key=str, value="json")
    named = stream.left_join(names, lambda order, user: {**order, "by": user and user["name"]})
    named.to("named", key=str, value="json")
    by_product = named.group_by(lambda k, v: v["product"], key=str, value="json")
    by_product.aggregate(
        lambda: 0.0, lambda k, v, total: total + v["amount"], "spent", value=float
    ).to_stream().to("totals", key=str, value=float)
    windows = ps.TimeWindows.of_size_and_grace("1m", "1h")
    stream.group_by_key().windowed_by(windows).count("per-minute").to_stream().to(
        "minutes", key=ps.WindowedSerdes.time_windowed("string", "1m"), value=int
    )
    return builder.build()


@pytest.fixture
def result(spark: Any, orders: Any, users: Any) -> Iterator[ps.BatchResult]:
    inputs = {
        "orders": BatchInput(
            orders, key="user", value=["user", "product", "amount"], timestamp="at"
        ),
        "users": BatchInput(users, key="id", value=["name"], timestamp="since"),
    }
    with run_batch(shop(), inputs, spark, num_partitions=2) as found:
        yield found


def driven() -> ps.TopologyTestDriver:
    """The same records one after the other; at equal times the first topic goes first."""
    sizes = dict.fromkeys(("orders", "users", "named", "totals", "minutes"), 2)
    driver = ps.TopologyTestDriver(shop(), num_partitions=sizes)
    records = [
        (int(at.timestamp() * 1000), "orders", user, {"user": user, "product": p, "amount": amount})
        for user, p, amount, at in ORDERS
    ]
    records += [(since, "users", user, {"name": name}) for user, name, since in USERS]
    for time, topic, key, value in sorted(records, key=lambda each: (each[0], each[1] == "orders")):
        driver.pipe_input(topic, key, value, time)
    return driver


def test_history_makes_what_the_driver_makes(result: ps.BatchResult) -> None:
    """All columns of both output topics and of both stores, key by key."""
    with driven() as driver:
        wanted, found = defaultdict(list), defaultdict(list)
        for record in driver.read_records("totals"):
            wanted[record.key].append((record.value, record.timestamp))
        ordered = result["totals"].orderBy("timestamp", "value")
        for row in ordered.collect():
            found[row["key"]].append((row["value"], round(row["timestamp"].timestamp() * 1000)))
        assert found == wanted
        counted = {
            (key.key, key.start, key.end): value.value
            for partition in range(2)
            for key, value in driver.get_state_store("per-minute", partition).all()
        }
    rows = result.store("per-minute").collect()
    assert {(r["key"], r["window_start"], r["window_end"]): r["value"] for r in rows} == counted


def test_json_values_become_text_or_a_struct(result: ps.BatchResult) -> None:
    """The user decides which; the names of the users are joined as of each order."""
    frame = result.topic("named", value_type="struct<user:string,by:string>")
    rows = frame.select("value.user", "value.by").distinct().collect()
    assert {row["by"] for row in rows if row["user"] == "u4"} == {None, "name 4"}
    assert {row["by"] for row in rows if row["user"] == "u0"} == {"name 0"}
    text = result["named"].orderBy("timestamp").first()["value"]
    assert text == '{"user":"u0","product":"p0","amount":0.0,"by":"name 0"}'


def test_windowed_keys_have_their_bounds_beside_them(result: ps.BatchResult) -> None:
    """Their partition is that of the key alone."""
    rows = result["minutes"].collect()
    assert {row["window_end"] - row["window_start"] for row in rows} == {60_000}
    partitions = defaultdict(set)
    for row in rows:
        partitions[row["key"]].add(row["partition"])
    assert {len(each) for each in partitions.values()} == {1}
    assert result.topics == ["named", "totals", "minutes"]
    assert sorted(result.stores) == ["per-minute", "spent", "users-STATE-STORE-0000000000"]


def test_offsets_decide_the_order_of_a_partition(spark: Any) -> None:
    """A late record comes where its offset puts it; bytes stay bytes."""
    rows = [(b"k", b"second", 1, 0, 11), (b"k", b"first", 9, 0, 10), (None, b"third", 5, 1, 12)]
    frame = spark.createDataFrame(
        rows, "key binary, value binary, timestamp long, partition int, offset long"
    )
    builder = ps.StreamsBuilder()
    builder.stream("in", key=bytes, value=bytes).to("out")
    with run_batch(builder.build(), {"in": frame}, spark, num_partitions=2) as result:
        found = result.raw("out").orderBy("partition", "order").collect()
        assert [bytes(row["value"]) for row in found if row["key"]] == [b"first", b"second"]
        with pytest.raises(InvalidArgumentError, match="unknown-store"):
            result.store("out")


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({}, "missing-input"),
        ({"orders": "orders", "users": "users", "other": "users"}, "unknown-topic"),
        ({"orders": "orders", "users": "users"}, "unknown-column"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    spark: Any, orders: Any, users: Any, inputs: dict[str, str], code: str
) -> None:
    """Before anything runs."""
    frames = {"orders": orders, "users": BatchInput(users, key="id", timestamp="since")}
    given = {topic: frames[name] for topic, name in inputs.items()}
    with pytest.raises(InvalidArgumentError, match=code):
        run_batch(shop(), given, spark)


def test_rows_of_lake_tables_have_real_columns(spark: Any, orders: Any) -> None:
    """Those of the table that a running application writes; present rows are the last ones."""
    builder = ps.StreamsBuilder()
    stream = builder.stream("orders", key=str, value="json")
    stream.to_lake("delta:/lake/orders", schema="product string, amount double")
    windows = ps.TimeWindows.of_size_and_grace("1m", "1h")
    counts = stream.group_by_key().windowed_by(windows).count("per-minute")
    counts.to_lake("delta:/lake/changes", schema=int)
    counts.to_lake("delta:/lake/counts", schema=int, mode="present")
    users = stream.to_table().filter(lambda user, order: order["amount"] < 58)
    users.to_lake("delta:/lake/users", schema="amount double", mode="present")
    given = BatchInput(orders, key="user", value=["product", "amount"], timestamp="at")
    with run_batch(builder.build(), {"orders": given}, spark, num_partitions=2) as found:
        rows = found["delta:/lake/orders"].orderBy("timestamp").collect()
        first = rows[0].asDict(recursive=True)
        assert first.pop("partition") in (0, 1)
        first["timestamp"] = first["timestamp"].timestamp()
        value = {"product": "p0", "amount": 0.0}
        assert first == {"key": "u0", "value": value, "timestamp": 1_700_000_000.0}
        assert sum(row["value"]["amount"] for row in rows) == sum(order[2] for order in ORDERS)
        assert found["delta:/lake/changes"].count() == len(ORDERS)
        newest = {
            (row["key"], int(row["window_start"].timestamp() * 1000)): row["value"]
            for row in found["delta:/lake/counts"].collect()
        }
        stored = found.store("per-minute").collect()
        assert newest == {(row["key"], row["window_start"]): row["value"] for row in stored}
        last = {row["key"]: row["value"]["amount"] for row in found["delta:/lake/users"].collect()}
        assert last == {f"u{n}": 55.0 + n for n in range(3)}
