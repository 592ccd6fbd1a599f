"""Serdes from annotations: where they count, and where nothing is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pytest

from penstock import JoinWindows, StreamsBuilder, TopologyTestDriver, col
from penstock.dsl.operators.result_types import (
    serde_of_aggregate,
    serde_of_elements,
    serde_of_result,
    serdes_of_pair,
    serdes_of_pairs,
)
from penstock.errors import StreamsError
from penstock.serde.inferred import InferredSerde
from penstock.serde.serdes import Serdes


@dataclass
class Order:
    country: str
    amount: float


@dataclass
class Total:
    count: int
    amount: float


def to_order(text: str) -> Order:
    country, amount = text.split(",")
    return Order(country, float(amount))


def maybe(text: str) -> Order | None:
    return to_order(text) if text else None


def either(text: str) -> Order | int:
    return 5


def unknown(text: str) -> Missing:  # type: ignore[name-defined]  # noqa: F821
    return text


def words(text: str) -> list[int]:
    return [len(word) for word in text.split()]


def each(text: str) -> Iterator[Order]:
    yield to_order(text)


def pair(key: str, value: str) -> tuple[int, Order]:
    return 1, to_order(value)


def pairs(key: str, value: str) -> Iterable[tuple[bytes, dict[str, Any]]]:
    return []


def plain(text: str) -> str:
    return text


class Parser:
    def order(self, text: str) -> Order:
        return to_order(text)

    @staticmethod
    def total(text: str) -> Total:
        return Total(0, 0)


JSON_OF_ORDER = InferredSerde(Serdes.json(Order))


@pytest.mark.parametrize(
    ("fn", "serde"),
    [
        (to_order, JSON_OF_ORDER),
        (maybe, JSON_OF_ORDER),
        (Parser().order, JSON_OF_ORDER),
        (Parser.total, InferredSerde(Serdes.json(Total))),
        (partial(to_order), JSON_OF_ORDER),
        (Order, JSON_OF_ORDER),
        (words, InferredSerde(Serdes.json(list[int]))),
        (int, InferredSerde(Serdes.long())),
        (dict, InferredSerde(Serdes.json())),
        (plain, None),
        (str, None),
        (either, None),
        (unknown, None),
        (len, None),
        (lambda value: {"value": value}, None),
        (col("amount"), None),
        (Serdes.string, None),
    ],
)
def test_annotation_or_class_says_the_serde(fn: Callable[..., Any], serde: object) -> None:
    """Text is the default anyway; several types and unknown names say nothing."""
    assert serde_of_result(fn) == serde


def test_pairs_and_elements_are_taken_apart() -> None:
    assert serde_of_elements(each) == JSON_OF_ORDER
    assert serde_of_elements(words) == InferredSerde(Serdes.long())
    assert serde_of_elements(to_order) is None
    assert serdes_of_pair(pair) == (InferredSerde(Serdes.long()), JSON_OF_ORDER)
    assert serdes_of_pair(to_order) == serdes_of_pairs(pair) == (None, None)
    key, value = serdes_of_pairs(pairs)
    assert (key, value) == (
        InferredSerde(Serdes.bytes()),
        InferredSerde(Serdes.json(dict[str, Any])),
    )


def _fails() -> int:
    raise RuntimeError("not now")


@pytest.mark.parametrize(
    ("initializer", "serde"),
    [
        (dict, Serdes.json()),
        (lambda: {"n": 0}, Serdes.json()),
        (list, Serdes.json()),
        (lambda: Total(0, 0), Serdes.json(Total)),
        (lambda: 0, Serdes.long()),
        (lambda: 0.0, Serdes.double()),
        (_fails, Serdes.long()),
    ],
)
def test_initializer_says_the_serde_of_an_aggregate(
    initializer: Callable[[], Any], serde: object
) -> None:
    """By its annotation, or by what it returns."""
    found = serde_of_aggregate(initializer, lambda key, value, total: total)
    assert found == InferredSerde(serde)  # type: ignore[arg-type]


def test_initializer_that_says_nothing() -> None:
    """Text needs no serde, and an initializer that fails now fails with its record."""

    def fails() -> Any:
        raise RuntimeError("not now")

    for initializer in (str, lambda: "", lambda: None, fails):
        assert serde_of_aggregate(initializer, lambda key, value, total: total) is None


def _country(key: str, order: Order) -> str:
    return order.country


def _add(key: str, order: Order, total: Total) -> Total:
    return Total(total.count + 1, total.amount + order.amount)


def shop() -> StreamsBuilder:
    """A program that names no serde at all."""
    builder = StreamsBuilder()
    orders = builder.stream("in").map_values(to_order)
    orders.to("orders")
    totals = orders.group_by(_country).aggregate(lambda: Total(0, 0), _add, "totals")
    totals.to_stream().to("totals")
    builder.stream("in").map_values(lambda text: {"text": text}).to("objects")
    builder.stream("in").to("copies")
    return builder


@pytest.mark.parametrize("engine", ["records", "columns"])
def test_program_without_serdes_runs(engine: Literal["records", "columns"]) -> None:
    """Repartition topics and stores keep the types; a lambda's dict is written as JSON."""
    with TopologyTestDriver(shop().build(), engine=engine) as driver:
        driver.pipe("in", "DE,2.5", "DE,1")
        assert driver.read_values("orders") == [Order("DE", 2.5), Order("DE", 1)]
        assert driver.read_map("totals") == {"DE": Total(2, 3.5)}
        assert driver.read_values("objects") == ['{"text":"DE,2.5"}', '{"text":"DE,1"}']
        assert driver.read_values("copies") == ["DE,2.5", "DE,1"]


def test_default_that_is_set_wins() -> None:
    """Whoever has set one has said what everything is written with."""
    config = {"default.value.serde": "string"}
    with (
        TopologyTestDriver(shop().build(), config) as driver,
        pytest.raises(StreamsError, match="StringSerde"),
    ):
        driver.pipe("in", "DE,2.5")


def test_stores_of_a_join_have_the_serdes_of_their_streams() -> None:
    """So a join of objects needs no option."""
    builder = StreamsBuilder()
    left = builder.stream("left", value=Order)
    right = builder.stream("right", value=dict)
    within = JoinWindows.of_time_difference_with_no_grace("5s")
    left.join(right, lambda one, other: {"a": one.amount, **other}, within).to("out", value=dict)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe("left", Order("DE", 2.5), key="k")
        driver.pipe("right", {"b": 1}, key="k")
        assert driver.read_values("out") == [{"a": 2.5, "b": 1}]
