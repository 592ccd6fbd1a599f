"""``key=`` and ``value=`` name serdes of sinks, groups, repartitions and stores as of sources."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import KStream, StreamsBuilder, TimeWindows, TopologyTestDriver
from penstock.errors import InvalidArgumentError
from penstock.topology.topology import Topology


@dataclass(frozen=True)
class Order:
    amount: int


def described(make: Callable[[KStream[Any, Any]], Any]) -> list[tuple[object, object]]:
    """Return the serdes of all sinks, sources and stores of a program, as text."""
    builder = StreamsBuilder()
    make(builder.stream("in", key="bytes", value="bytes"))
    graph = builder.build().graph
    parts = [*graph.nodes.values(), *graph.stores.values()]
    return [
        (repr(getattr(part, "key_serde", None)), repr(getattr(part, "value_serde", None)))
        for part in parts
    ]


MINUTE = TimeWindows.of_size_with_no_grace("1m")
PAIRS: list[Callable[[dict[str, Any]], Callable[[KStream[Any, Any]], Any]]] = [
    lambda serdes: lambda stream: stream.to("out", **serdes),
    lambda serdes: lambda stream: stream.through("mid", **serdes),
    lambda serdes: lambda stream: stream.repartition("r", **serdes),
    lambda serdes: lambda stream: stream.to_table("t", **serdes),
    lambda serdes: lambda stream: stream.group_by(lambda k, v: k, **serdes).count("c"),
    lambda serdes: lambda stream: stream.map(lambda k, v: (k, v)).group_by_key(**serdes).count(),
    lambda serdes: lambda stream: stream.group_by_key().reduce(lambda one, two: two, **serdes),
    lambda serdes: (
        lambda stream: (
            stream.group_by_key().windowed_by(MINUTE).reduce(lambda one, two: two, **serdes)
        )
    ),
]


@pytest.mark.parametrize("operator", PAIRS)
def test_both_spellings_name_the_same_serdes(
    operator: Callable[[dict[str, Any]], Callable[[KStream[Any, Any]], Any]],
) -> None:
    """The short one is that of ``builder.stream``; both together are refused."""
    short = described(operator({"key": str, "value": Order}))
    long = described(operator({"key_serde": str, "value_serde": Order}))
    assert short == long
    assert short != described(operator({}))
    with pytest.raises(InvalidArgumentError):
        described(operator({"value": Order, "value_serde": Order}))


def test_records_are_written_with_the_serde_of_value() -> None:
    def built() -> Topology:
        builder = StreamsBuilder()
        builder.stream("in", value=int).map_values(Order).to("out", value=Order)
        return builder.build()

    with TopologyTestDriver(built()) as driver:
        driver.pipe("in", 3)
        assert driver.read_values("out") == [Order(3)]
