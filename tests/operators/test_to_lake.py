"""Rows of a table. How they become files is tested where there are Kafka and Spark."""

from dataclasses import dataclass

import pytest

from penstock import Serdes, StreamsBuilder
from penstock.errors import InvalidArgumentError, TopologyError
from penstock.testing import rows
from penstock.topology.nodes import ToLake
from tests.operators.driver import Driver


def test_records_are_collected_under_the_name_of_the_table(driver: Driver) -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=Serdes.json()).to_lake("delta:/lake/orders/")
    driver.start(builder.build())
    driver.pipe("in", 'key | value | time\nann | {"amount": 5} | 0:05')
    (row,) = driver.read("delta:/lake/orders")
    assert row == rows("key | time\nann | 0:05")[0]
    assert "5" in str(row.cells["value"])


def test_each_change_of_a_table_is_a_row(driver: Driver) -> None:
    """Also the deletion of a key, as a row without a value."""
    builder = StreamsBuilder()
    builder.table("in").to_lake("delta:/lake/users")
    driver.start(builder.build())
    driver.pipe("in", "key | value\nann | x\nann | y\nann | null")
    assert [row.cells["key"] for row in driver.read("delta:/lake/users")] == ["ann"] * 3


def test_a_table_is_written_as_its_changes_or_its_present_rows() -> None:
    for mode, is_present in (("changes", False), ("present", True)):
        builder = StreamsBuilder()
        builder.table("in").to_lake("delta:/lake/users", name="lake", mode=mode)  # type: ignore[arg-type]
        node = builder.build().graph.nodes["lake"]
        assert isinstance(node, ToLake)
        assert node.has_present_rows is is_present


def test_a_mode_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="'merge'") as caught:
        StreamsBuilder().table("in").to_lake("delta:/lake/users", mode="merge")  # type: ignore[arg-type]
    assert caught.value.code == "bad-lake-mode"


@dataclass(frozen=True)
class Pair:
    first: str
    second: str


def test_present_rows_need_a_key_of_one_value() -> None:
    """Libraries cannot tell whether two structs are the same."""
    table = StreamsBuilder().table("in", key=Pair)
    with pytest.raises(InvalidArgumentError, match="a key that is one value") as caught:
        table.to_lake("delta:/lake/pairs", mode="present")
    assert caught.value.code == "bad-lake-mode"


@pytest.mark.parametrize(
    "table",
    [
        "/lake/orders",
        "parquet:/lake",
        "iceberg:/lake",
        "iceberg:orders",
        "delta:lake",
        "delta:s3://b/t",
        None,
    ],
)
def test_a_table_that_cannot_be_written_is_refused_where_it_is_named(table: str) -> None:
    stream = StreamsBuilder().stream("in")
    with pytest.raises(InvalidArgumentError, match="rows cannot go to") as caught:
        stream.to_lake(table)
    assert caught.value.code == "bad-lake-table"
    assert "test_to_lake.py" in str(caught.value)


def test_two_nodes_cannot_write_one_table() -> None:
    """Each of them would begin with the rows of its own."""
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.to_lake("delta:/lake/orders")
    stream.to_lake("delta:/lake/orders/")
    with pytest.raises(TopologyError, match="already written") as caught:
        builder.build()
    assert caught.value.code == "duplicate-topic"
