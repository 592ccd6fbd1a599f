"""The program behind ``StreamsSmokeTest``: windows, suppression, tables that join, a regrouping."""

from __future__ import annotations

from typing import Any

import penstock as ps

APPLICATION = "SmokeTest"
TOPICS = (
    "data", "echo", "max", "min", "min-suppressed", "min-raw", "dif", "sum", "sws-raw",
    "sws-suppressed", "cnt", "avg", "tagg", "fk",
)  # fmt: skip
#: The value that ends the input, and the largest of Kafka's integers.
_END = 2**31 - 1
_FLUSH = "flush"


def build() -> ps.Topology:
    """Build everything that the verifier looks at."""
    builder = ps.StreamsBuilder()
    source = builder.stream("data", key="string", value="integer")
    _unless_flush(source).to("echo", key="string", value="integer")
    data = source.filter(lambda _, value: value is None or value != _END)
    grouped = data.group_by_key(ps.Grouped(key="string", value="integer"))
    _add_windows(grouped)
    _add_extremes(grouped)
    _add_totals(grouped)
    _add_joins(builder)
    return builder.build()


def _add_windows(grouped: ps.KGroupedStream[str, int]) -> None:
    """Add the least value of each day, and sums of small windows that overlap."""
    least = grouped.windowed_by(ps.TimeWindows.of_size_and_grace("1d", "1m")).aggregate(
        lambda: _END,
        lambda _, value, lowest: min(value, lowest),
        ps.Materialized(name="uwin-min", value="integer", retention="25h"),
    )
    _write_windows(least, "min-raw")
    closed = ps.Suppressed.until_window_closes(ps.BufferConfig.unbounded())
    _write_windows(least.suppress(closed), "min-suppressed")
    _write_plain(least, "min", "integer")
    small = ps.TimeWindows.of_size_and_grace("2s", "30s").advance_by("1s")
    sums = grouped.windowed_by(small).reduce(lambda one, other: one + other)
    _write_windows(sums, "sws-raw")
    _write_windows(sums.suppress(closed), "sws-suppressed")


def _add_extremes(grouped: ps.KGroupedStream[str, int]) -> None:
    """Add the greatest value of each key."""
    greatest = grouped.windowed_by(ps.TimeWindows.of_size_with_no_grace("2d")).aggregate(
        lambda: -(2**31),
        lambda _, value, highest: max(value, highest),
        ps.Materialized(name="uwin-max", value="integer"),
    )
    _write_plain(greatest, "max", "integer")


def _add_totals(grouped: ps.KGroupedStream[str, int]) -> None:
    """Add the sum and the number of the values of each key."""
    windowed = grouped.windowed_by(ps.TimeWindows.of_size_with_no_grace("2d"))
    total = windowed.aggregate(
        lambda: 0,
        lambda _, value, sum_: value + sum_,
        ps.Materialized(name="win-sum", value="long"),
    )
    _write_plain(total, "sum", "long")
    _write_plain(windowed.count(ps.Materialized(name="uwin-cnt")), "cnt", "long")


def _add_joins(builder: ps.StreamsBuilder) -> None:
    """Read the results back as tables, join them, and count how many keys have each count."""
    least = builder.table("min", key="string", value="integer", materialized="minStoreName")
    greatest = builder.table("max", key="string", value="integer", materialized="maxStoreName")
    total = builder.table("sum", key="string", value="long")
    count = builder.table("cnt", key="string", value="long", materialized="cntStoreName")
    difference = greatest.join(least, lambda high, low: high - low)
    _unless_flush(difference.to_stream()).to("dif", key="string", value="integer")
    average = total.join(count, lambda sum_, number: sum_ / number)
    _unless_flush(average.to_stream()).to("avg", key="string", value="double")
    store = ps.Materialized(
        store=ps.Stores.in_memory_key_value_store("cntByCnt"),
        key="string",
        value="long",
    )
    (
        count.group_by(
            lambda _, number: (str(number), 1),
            ps.Grouped(key="string", value="long"),
        )
        .aggregate(
            lambda: 0,
            lambda _, value, sum_: sum_ + value,
            lambda _, value, sum_: sum_ - value,
            store,
        )
        .to_stream()
        .to("tagg", key="string", value="long")
    )


def _unless_flush(stream: ps.KStream[str, Any]) -> ps.KStream[str, Any]:
    """Leave out the records that only move stream time on."""
    return stream.filter_not(lambda key, _: key == _FLUSH)


def _write_windows(table: ps.KTable[ps.Windowed[str], int], topic: str) -> None:
    """Write a windowed table with the text of each window as the key."""
    (
        table.to_stream()
        .filter_not(lambda key, _: key.key == _FLUSH)
        .map(lambda key, value: (str(key), value))
        .to(topic, key="string", value="integer")
    )


def _write_plain(table: ps.KTable[ps.Windowed[str], int], topic: str, value: str) -> None:
    """Write a windowed table by the keys alone."""
    stream = table.to_stream(lambda key, _: key.key)
    _unless_flush(stream).to(topic, key="string", value=value)
