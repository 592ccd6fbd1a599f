"""Every argument has one name; a former one works, and warns with the present one.

Exercises ``older_operators``.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock import KStream, KTable, StreamsBuilder, TopologyTestDriver
from penstock.errors import InvalidArgumentError, PenstockError
from penstock.topology.topology import Topology


@dataclass(frozen=True)
class Order:
    amount: int


def _stream() -> Any:
    return StreamsBuilder().stream("in")


def _table() -> Any:
    return StreamsBuilder().table("in")


FORMER: list[tuple[Callable[[], object], str]] = [
    (lambda: _stream().to("out", key_serde=str), "to: the argument key_serde is called key"),
    (lambda: _stream().to_table(value_serde=str), "value_serde is called value"),
    (lambda: _stream().group_by_key(key_serde=str), "group_by_key: the argument key_serde"),
    (lambda: _stream().group_by_key().count(value_serde=int), "count: the argument value_serde"),
    (lambda: _stream().group_by_key().aggregate(key_serde=str), "aggregate: the argument key"),
    (lambda: _stream().group_by_key().reduce(reducer=max), "reduce: the argument reducer"),
    (lambda: _stream().join(_table(), max, key_selector=max), "key_selector is called key"),
    (lambda: _stream().join(_table(), max, other_value_serde=str), "called other_value"),
    (lambda: _stream().filter(predicate=bool), "filter: the argument predicate is called fn"),
    (lambda: _stream().print(mapper=str), "print: the argument mapper is called fn"),
    (lambda: _stream().repartition(number_of_partitions=2), "called num_partitions"),
    (
        lambda: TopologyTestDriver(Topology(), partitions={"in": 2}),  # type: ignore[call-arg]
        "TopologyTestDriver: the argument partitions is called num_partitions",
    ),
    (
        lambda: ps.run_batch(Topology(), {}, None, partitions=2),  # type: ignore[call-arg,arg-type]
        "run_batch: the argument partitions is called num_partitions",
    ),
    (lambda: _stream().branch(bool), r"KStream\.branch is in penstock\.java: .* call split\(\)"),
    (lambda: _stream().through("t"), r"KStream\.through is in penstock\.java: .* repartition\(\)"),
    (lambda: ps.TimeWindows.of("1m"), r"from penstock\.java import TimeWindows"),  # type: ignore[attr-defined]
    (lambda: ps.SessionWindows.with_("1m"), "SessionWindows.with_ is in penstock"),  # type: ignore[attr-defined]
    (lambda: ps.JoinWindows.of("1m"), "from penstock.java import JoinWindows"),  # type: ignore[attr-defined]
    (lambda: _table().map_values(mapper=str), "map_values: the argument mapper is called fn"),
    (lambda: _table().group_by(selector=str), "group_by: the argument selector is called fn"),
    (lambda: _table().to_stream(key_mapper=str), "to_stream: the argument key_mapper"),
    (lambda: ps.Consumed(key_serde=str), "Consumed: the argument key_serde is called key"),  # type: ignore[call-arg]
    (lambda: ps.Materialized.with_(key_serde=str), "with_: the argument key_serde"),  # type: ignore[call-arg]
    (lambda: Topology().add_source("a", "in", key_serde=str), "add_source: the argument"),  # type: ignore[call-arg]
    (
        lambda: ps.Stores.key_value_store_builder(
            ps.Stores.in_memory_key_value_store("s"),
            value_serde=str,  # type: ignore[call-arg]
        ),
        "key_value_store_builder: the argument value_serde is called value",
    ),
]


@pytest.mark.parametrize(("call", "text"), FORMER)
def test_former_name_of_an_argument_warns_with_the_present_one(
    call: Callable[[], object], text: str
) -> None:
    """The warning names the line of the program."""
    incomplete = contextlib.suppress(PenstockError, TypeError, AttributeError)
    with pytest.warns(DeprecationWarning, match=text) as caught, incomplete:
        call()
    assert {Path(each.filename).name for each in caught} == {Path(__file__).name}


def test_former_name_of_an_argument_means_the_same() -> None:
    builder = StreamsBuilder()
    with pytest.warns(DeprecationWarning, match="is called (key|value)"):
        builder.stream("in", key_serde=str, value_serde=int).map_values(Order).to(
            "out", value_serde=Order
        )
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe("in", 3, key="a")
        assert driver.read_values("out") == [Order(3)]


def test_former_name_beside_the_present_one_is_refused() -> None:
    """Nobody can tell which of the two is meant."""
    with pytest.raises(InvalidArgumentError, match="which is given, too") as caught:
        _stream().to("out", key=str, key_serde=int)
    assert caught.value.code == "former-name"
    assert (caught.value.at or "").startswith("test_former_names.py:")


@pytest.mark.parametrize(
    ("owner", "former", "present"),
    [
        (KStream, "foreach", "KStream.for_each"),
        (KStream, "mapValues", "KStream.map_values"),
        (KTable, "toStream", "KTable.to_stream"),
        (ps.Consumed, "with_key_serde", "Consumed.with_key"),
        (ps.Joined, "with_other_value_serde", "Joined.with_other_value"),
        (ps.Repartitioned, "with_number_of_partitions", "Repartitioned.with_num_partitions"),
    ],
)
def test_former_name_of_a_method_works_or_is_told_the_present_one(
    owner: Any, former: str, present: str
) -> None:
    made = owner() if owner not in (KStream, KTable) else _stream()
    made = _table() if owner is KTable else made
    if former == "foreach" or former[:5] == "with_":
        with pytest.warns(DeprecationWarning, match=f"is called {present}$"):
            assert getattr(made, former) == getattr(made, present.partition(".")[2])
        return
    with pytest.raises(AttributeError, match=f"write {present}$"):
        getattr(made, former)


def test_unknown_attribute_stays_unknown() -> None:
    """Nothing near it is suggested."""
    with pytest.raises(AttributeError, match=r"has no attribute 'zzz'$"):
        _ = _stream().zzz


def test_aggregate_cannot_be_called_as_an_argument() -> None:
    """``value`` is the serde, so an aggregate of that name would be lost."""
    grouped = StreamsBuilder().stream("in", value=dict).group_by_key()
    with pytest.raises(InvalidArgumentError, match="value= is the serde of the store") as caught:
        grouped.aggregate(value=ps.sum_(ps.col("amount")))  # type: ignore[arg-type]
    assert caught.value.code == "bad-aggregate-name"


def test_function_as_key_of_a_join_with_equal_keys_is_refused() -> None:
    """Only a global table is looked up by another key."""
    builder = StreamsBuilder()
    stream, table = builder.stream("in"), builder.table("t")
    with pytest.raises(InvalidArgumentError, match="means nothing for a join with a table"):
        stream.join(table, lambda one, two: one, key=lambda key, value: value)


def test_serde_as_key_of_a_join_with_a_global_table_is_refused() -> None:
    """Its key is looked up, so a function must find it."""
    builder = StreamsBuilder()
    stream, table = builder.stream("in"), builder.global_table("t")
    with pytest.raises(InvalidArgumentError, match="is a serde, and a global table has its own"):
        stream.join(table, lambda one, two: one, key=str)


def test_records_are_written_with_the_serde_of_value() -> None:
    def built() -> Topology:
        builder = StreamsBuilder()
        builder.stream("in", value=int).map_values(Order).to("out", value=Order)
        return builder.build()

    with TopologyTestDriver(built()) as driver:
        driver.pipe("in", 3)
        assert driver.read_values("out") == [Order(3)]
