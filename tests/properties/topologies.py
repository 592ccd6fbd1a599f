"""Small topologies that between them use every kind of state: what the properties are about."""

from collections.abc import Callable

from penstock import (
    BufferConfig,
    JoinWindows,
    KGroupedStream,
    KStream,
    KTable,
    SessionWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
)

Build = Callable[[], Topology]
Numbers = KStream[str, int]


def stateless() -> Topology:
    builder = StreamsBuilder()
    numbers = _numbers(builder, "in").filter(lambda key, value: value is not None)
    doubled = numbers.map(lambda key, value: (f"{key}!", value * 2))
    doubled.flat_map_values(range).to("out", key=str, value=int)
    return builder.build()


def count() -> Topology:
    """With a new key, so that records cross a repartition topic."""
    builder = StreamsBuilder()
    by_value = _numbers(builder, "in").group_by(
        lambda key, value: None if value is None else str(value), key=str
    )
    _write(by_value.count("counts"))
    return builder.build()


def window_count() -> Topology:
    builder = StreamsBuilder()
    windows = TimeWindows.of_size_and_grace("30s", "20s").advance_by("10s")
    counts = _grouped(builder).windowed_by(windows).count("counts")
    counts.to_stream(_window_text).to("out", key=str, value=int)
    return builder.build()


def final_window_count() -> Topology:
    builder = StreamsBuilder()
    windows = TimeWindows.of_size_and_grace("30s", "20s")
    counts = _grouped(builder).windowed_by(windows).count("counts")
    final = counts.suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))
    final.to_stream(_window_text).to("out", key=str, value=int)
    return builder.build()


def session_sum() -> Topology:
    builder = StreamsBuilder()
    sessions = SessionWindows.of_inactivity_gap_and_grace("15s", "20s")
    sums = _grouped(builder).windowed_by(sessions).reduce(_add, "sums")
    sums.to_stream(_window_text).to("out", key=str, value=int)
    return builder.build()


def stream_table_join() -> Topology:
    builder = StreamsBuilder()
    table = builder.table("table", materialized="rows", key=str, value=int)
    joined = _numbers(builder, "in").left_join(table, _pair)
    joined.to("out", key=str, value=str)
    return builder.build()


def table_join() -> Topology:
    builder = StreamsBuilder()
    left = builder.table("in", materialized="left", key=str, value=int)
    right = builder.table("table", materialized="right", key=str, value=int)
    _write(left.outer_join(right, _sum_of_some, materialized="sums", value=int))
    return builder.build()


def table_sums() -> Topology:
    """A table grouped by another key: old values are subtracted. A sum of zero is no row."""
    builder = StreamsBuilder()
    rows = builder.table("in", materialized="rows", key=str, value=int)
    grouped = rows.group_by(lambda key, value: (f"g{value % 2}", value), key=str, value=int)
    sums = grouped.aggregate(
        lambda: 0,
        lambda key, value, total: total + value or None,
        lambda key, value, total: total - value or None,
        "sums",
        value=int,
    )
    _write(sums)
    return builder.build()


def foreign_key_join() -> Topology:
    builder = StreamsBuilder()
    orders = builder.table("in", materialized="orders", key=str, value=int)
    users = builder.table("table", materialized="users", key=str, value=int)
    joined = orders.left_join(
        users, _sum_of_some, foreign_key=lambda value: f"k{value % 4}", materialized="joined",
        value=int,
    )  # fmt: skip
    _write(joined)
    return builder.build()


def stream_join() -> Topology:
    builder = StreamsBuilder()
    windows = JoinWindows.of_time_difference_and_grace("10s", "20s")
    left, right = _numbers(builder, "in"), _numbers(builder, "table")
    joined = left.left_join(right, _pair, windows, value=int, other_value=int)
    joined.to("out", key=str, value=str)
    return builder.build()


def deduplicated() -> Topology:
    builder = StreamsBuilder()
    unique = _numbers(builder, "in").deduplicate_by_key("20s", "seen")
    unique.to("out", key=str, value=int)
    return builder.build()


def _numbers(builder: StreamsBuilder, topic: str) -> Numbers:
    return builder.stream(topic, key=str, value=int)


def _grouped(builder: StreamsBuilder) -> KGroupedStream[str, int]:
    numbers = _numbers(builder, "in").filter(lambda key, value: value is not None)
    return numbers.group_by_key()


def _write(table: KTable[str, int]) -> None:
    table.to_stream().to("out", key=str, value=int)


def _window_text(windowed: object, value: int) -> str:
    return str(windowed)


def _add(one: int, other: int) -> int:
    return one + other


def _pair(left: int | None, right: int | None) -> str:
    return f"{left}+{right}"


def _sum_of_some(left: int | None, right: int | None) -> int:
    return (left or 0) + 10 * (right or 0)


ONE_TOPIC: list[Build] = [
    stateless, count, window_count, final_window_count, session_sum, table_sums, deduplicated,
]  # fmt: skip
TWO_TOPICS: list[Build] = [stream_table_join, table_join, foreign_key_join, stream_join]
