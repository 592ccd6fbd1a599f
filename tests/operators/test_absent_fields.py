"""A misspelt field of JSON without a schema is counted.

That columns count the same is a property in ``tests/properties/test_vectorised.py``, whose records
lack fields.

Exercises ``penstock.kernel.operators.absent_fields`` and ``penstock.expr.absent``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock import col, struct, sum_
from penstock.expr.absent import AbsentFields

Stream = ps.KStream[Any, Any]


def grouped(stream: Stream) -> Any:
    return stream.group_by_key()


#: By operator the program, and how many of four records lack the field.
PROGRAMS: dict[str, tuple[Callable[[Stream], Any], int]] = {
    "filter": (lambda s: s.filter(col("amount") > 5), 1),
    "filter, two fields": (lambda s: s.filter((col("amount") > 5) & (col("amount") < 99)), 1),
    "filter_not forwards it": (lambda s: s.filter_not(col("amount") > 5), 0),
    "filter that asks": (lambda s: s.filter(col("amount").is_null()), 0),
    "filter that fills": (lambda s: s.filter(col("amount").fill_null(0) > 5), 0),
    "filter by function": (lambda s: s.filter(lambda k, v: "amount" in v), 0),
    "sum": (lambda s: grouped(s).aggregate(sum_(col("amount")), value=int).to_stream(), 1),
    "named": (lambda s: grouped(s).aggregate(total=sum_(col("amount") * 2)).to_stream(), 1),
    "window": (
        lambda s: (
            grouped(s)
            .windowed_by(ps.TimeWindows.of_size_with_no_grace("10s").advance_by("5s"))
            .aggregate(total=sum_(col("amount")))
            .to_stream(lambda key, value: key.key)
        ),
        1,
    ),
    "session": (
        lambda s: (
            grouped(s)
            .windowed_by(ps.SessionWindows.of_inactivity_gap_with_no_grace("10s"))
            .aggregate(total=sum_(col("amount")))
            .to_stream(lambda key, value: key.key)
        ),
        1,
    ),
    "sliding": (
        lambda s: (
            grouped(s)
            .windowed_by(ps.SlidingWindows.of_time_difference_with_no_grace("10s"))
            .aggregate(total=sum_(col("amount")))
            .to_stream(lambda key, value: key.key)
        ),
        1,
    ),
    "map_values": (lambda s: s.map_values(struct(n=col("amount"))), 0),
}
VALUES = [{"amount": 7}, {"amuont": 7}, {"amount": None}, {"amount": 3, "more": 1}]


def driven(program: Callable[[Stream], Any], values: list[Any]) -> ps.TopologyTestDriver:
    builder = ps.StreamsBuilder()
    program(builder.stream("in", key=str, value="json")).to("out", key=str, value="json")
    driver = ps.TopologyTestDriver(builder.build())
    for number, value in enumerate(values):
        driver.pipe_input("in", "k", value, 1_000 + number)
    return driver


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_record_without_the_field_is_counted_with_its_name(name: str) -> None:
    """A null is none; what asks for nulls expects them."""
    program, lacking = PROGRAMS[name]
    with driven(program, VALUES) as driver:
        counts = {why: count for (_, why), count in driver.dropped_records.items()}
    assert counts == ({"absent-field: amount": lacking} if lacking else {})


def test_the_first_field_that_is_missing_is_named() -> None:
    found = AbsentFields([(col("a") + col("b")) > col("c")["d"]])
    assert found.names == ("a", "b", "c")
    assert found.first({"a": 1, "c": None}) == "b"
    assert found.first({"a": 1, "b": 1, "c": None}) is None
    assert AbsentFields.of_predicate(lambda key, value: True).names == ()
