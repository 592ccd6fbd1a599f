"""Arguments in the order of Java's API are recognised, and the error says what to write."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock import (
    Consumed,
    Grouped,
    Joined,
    JoinWindows,
    Materialized,
    Named,
    Serdes,
    StreamJoined,
    StreamsBuilder,
    TimeWindows,
)
from penstock.errors import InvalidArgumentError

Program = Callable[[Any], object]
MINUTE = TimeWindows.of_size_with_no_grace("1m")
WITHIN = JoinWindows.of_time_difference_with_no_grace("1m")


def first(one: object, other: object) -> object:
    return one


JAVA: list[tuple[Program, str]] = [
    (lambda b: Grouped.with_("name", Serdes.string(), Serdes.long()), "Grouped.with_(key, "),  # type: ignore[arg-type]
    (lambda b: Consumed.with_(str, str, "earliest"), "offset_reset='earliest'"),  # type: ignore[arg-type]
    (lambda b: b.table("t").join(b.table("u"), first, Materialized.as_("m")), "materialized="),
    (lambda b: b.table("t").left_join(b.table("u"), first, Named.as_("n")), "name=Named(…)"),
    (lambda b: b.table("t").join(b.table("u"), len, first), "foreign_key=extractor"),
    (lambda b: b.stream("s").join(b.global_table("g"), first, first), "key=selector"),
    (lambda b: b.stream("s").join(b.table("t"), first, Joined.as_("j")), "joined=Joined"),
    (
        lambda b: b.stream("s").join(b.stream("r"), first, WITHIN, StreamJoined.as_("j")),
        "stream_joined=StreamJoined",
    ),
    (
        lambda b: b.stream("s").group_by_key().count(Named.as_("n"), Materialized.as_("m")),
        "materialized=Materialized",
    ),
    (
        lambda b: (
            b.stream("s").group_by_key().windowed_by(MINUTE)
            .count(Named.as_("n"), Materialized.as_("m"))
        ),
        "materialized=Materialized",
    ),
    (lambda b: b.table("t", Materialized.as_("m")), "materialized=Materialized"),
    (lambda b: b.stream("s").to_table(Named.as_("n"), Materialized.as_("m")), "materialized="),
]  # fmt: skip


@pytest.mark.parametrize(("program", "fix"), JAVA)
def test_java_order_is_refused_with_what_to_write(program: Program, fix: str) -> None:
    """It was a bare TypeError, or the option was taken for something else without a word."""
    with pytest.raises(InvalidArgumentError) as raised:
        program(StreamsBuilder())
    assert raised.value.code == "java-order"
    assert fix in (raised.value.fix or "")
    assert (raised.value.at or "").startswith("test_java_arguments.py:")


def test_options_in_their_places_are_taken() -> None:
    """By position where there is one, by name, and a name instead of options."""
    builder = StreamsBuilder()
    stream = builder.stream("s", Consumed.with_(str, str, offset_reset="earliest"))
    counts = stream.group_by_key(Grouped.with_(str, str, "g")).count(Materialized.as_("m"))
    stream.group_by_key().count(Named.as_("other"))
    table = builder.table("t", materialized=Materialized.as_("t"))
    table.join(counts, first, materialized=Materialized.as_("j"), name=Named.as_("named"))
    stream.process(lambda record: record, name=Named.as_("p"))
    assert {"m", "t", "j"} <= set(builder.build().graph.stores)


async def ask(value: str) -> str:
    return value


class Asks:
    async def __call__(self, value: str) -> str:
        return value


@pytest.mark.parametrize("operator", ["map_values", "filter", "flat_map_values", "for_each"])
@pytest.mark.parametrize("function", [ask, Asks()])
def test_async_function_is_sent_to_map_values_async(operator: str, function: object) -> None:
    """Otherwise the value would be a coroutine that nothing awaits."""
    stream = StreamsBuilder().stream("s")
    method = getattr(stream, operator)
    with pytest.raises(InvalidArgumentError, match="map_values_async") as raised:
        method(function)
    assert raised.value.code == "async-function"


def test_map_values_async_takes_it() -> None:
    StreamsBuilder().stream("s").map_values_async(ask)


@pytest.mark.parametrize("operator", ["select_key", "filter", "map_values"])
def test_a_serde_where_no_bytes_are_made_is_refused_with_who_takes_it(operator: str) -> None:
    stream: Any = StreamsBuilder().stream("in")
    with pytest.raises(InvalidArgumentError, match=f"{operator} has no argument 'key'") as raised:
        getattr(stream, operator)(lambda key, value: value, key=str)
    assert raised.value.code == "no-serde-here"
    assert "group_by_key" in str(raised.value.fix)
    assert "test_java_arguments.py" in str(raised.value.at)
