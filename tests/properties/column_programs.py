"""Topologies that run over columns, which between them use every column form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import penstock as ps
from penstock import java
from penstock.processor.supplier import ColumnSupplier
from tests.properties.table_programs import TABLE_BUILDS
from tests.pure_functions import declare_pure

Build = Callable[[ps.StreamsBuilder], None]
amount = ps.col("n")


def built(build: Build) -> ps.Topology:
    """The topology of a program."""
    builder = ps.StreamsBuilder()
    build(builder)
    topology = builder.build()
    return declare_pure(topology) if build in WITH_FUNCTIONS else topology


def stateless(builder: ps.StreamsBuilder) -> None:
    size = ps.when(amount > 3).then("many").otherwise(ps.col("s"))
    numbers = builder.stream("in", key="string", value="json")
    numbers.filter(amount > 0).map_values(ps.struct(n=amount * 2, size=size)).to(
        "out", key="string", value="json"
    )
    numbers.filter_not(ps.value.is_null()).map_values(str).to("other", value="string")


def arithmetic(builder: ps.StreamsBuilder) -> None:
    """Operands that are null or zero, as constants and as fields."""
    numbers = builder.stream("in", key="string", value="json").map_values(
        ps.struct(
            a=amount / 0, b=amount + ps.col("m"), c=amount % (amount - 1), d=amount > ps.col("m")
        )
    )
    numbers.to("out", key="string", value="json")


def divided(builder: ps.StreamsBuilder) -> None:
    arms = (
        builder.stream("in", key="string", value="json")
        .split("arm-")
        .branch(amount > 3, ps.Branched.as_("large"))
        .branch(ps.col("s") == "a", ps.Branched.as_("a"))
        .default_branch(ps.Branched.as_("rest"))
    )
    arms["arm-large"].to("out", key="string", value="json")
    arms["arm-rest"].map_values(ps.col("s")).to("other", key="string", value="json")


def merged(builder: ps.StreamsBuilder) -> None:
    """One source with several queues: the order of a key is that of the timestamps."""
    both = builder.stream(["in", "table"], key="string", value="json")
    both.map_values(amount).to("out", key="string", value="json")


def moved(builder: ps.StreamsBuilder) -> None:
    """Several queues behind a repartition, whose last record is the row."""
    stream = builder.stream("in", key="string", value="json").select_key(ps.col("s"))
    rows = stream.to_table("rows", key="string", value="json")
    rows.to_stream().to("out", key="string", value="json")


def merged_counts(builder: ps.StreamsBuilder) -> None:
    """A count does not show the order of its records, but it sends the headers of the last one."""
    both = builder.stream(["in", "table"], key="string", value="json")
    both.group_by_key().count("counts").to_stream().to("out", value="long")


def moved_counts(builder: ps.StreamsBuilder) -> None:
    """The same with a count behind the rows, which does not show the order of its records."""
    stream = builder.stream("in", key="string", value="json").select_key(ps.col("s"))
    rows = stream.to_table("rows", key="string", value="json")
    rows.to_stream().group_by_key().count("counts").to_stream().to("out", value="long")


def counts(builder: ps.StreamsBuilder) -> None:
    counted = builder.stream("in", key="string", value="json").group_by_key().count("counts")
    counted.to_stream().map_values(str).to("out", key="string", value="string")


def some_counts(builder: ps.StreamsBuilder) -> None:
    """An expression in front of a fold: it may raise after the fold has seen some records."""
    some = builder.stream("in", key="string", value="json").filter(amount > 0)
    counted = some.group_by_key().count("counts")
    counted.to_stream().to("out", key="string", value="long")


def repartitioned(builder: ps.StreamsBuilder) -> None:
    words = builder.stream("in", key="string", value="json").filter(ps.col("s").is_not_null())
    (
        words.flat_map_values(ps.col("s").split("b"))
        .group_by(ps.value, key="string", value="string")
        .count("words")
        .to_stream()
        .to("out", key="string", value="long")
    )


def sums(builder: ps.StreamsBuilder) -> None:
    """With a repartition, so that records of several queues are folded in order of time."""
    (
        builder.stream("in", key="string", value="json")
        .group_by(ps.col("s"), key="string", value="json")
        .aggregate(
            total=ps.sum_(amount), least=ps.min_(amount), last=ps.last(ps.key), n=ps.count(),
            mean=ps.avg(amount), seen=ps.collect(amount),
        )
        .to("out", key="string", value="json")
    )  # fmt: skip


def least(builder: ps.StreamsBuilder) -> None:
    """The least of no number is None, which deletes a row."""
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    table = grouped.aggregate(ps.min_(amount), materialized="least", value="json")
    table.to_stream().to("out", key="string", value="json")


def doubles(builder: ps.StreamsBuilder) -> None:
    """A store whose values are not those that are folded: an int comes back as a float."""
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    table = grouped.aggregate(ps.sum_(amount), materialized="sums", value="double")
    table.to_stream().map_values(str).to("out", key="string", value="string")


def windows(builder: ps.StreamsBuilder) -> None:
    tumbling = ps.TimeWindows.of_size_and_grace("30s", "20s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    table = grouped.windowed_by(tumbling).aggregate(
        ps.sum_(amount), materialized="sums", value="double"
    )
    name = ps.key["key"] + "@" + ps.key["start"].cast(str)
    table.to_stream(name).to("out", key="string", value="double")


def hopping(builder: ps.StreamsBuilder) -> None:
    overlapping = ps.TimeWindows.of_size_and_grace("30s", "10s").advance_by("10s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    counted = grouped.windowed_by(overlapping).count("counts")
    name = ps.key["key"] + "@" + ps.key["start"].cast(str) + "-" + ps.key["end"].cast(str)
    counted.to_stream(name).to("out", key="string", value="long")


def sliding(builder: ps.StreamsBuilder) -> None:
    """Windows around records, on disk and in memory, and a filter that asks for old values."""
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    near = ps.SlidingWindows.of_time_difference_and_grace("10s", "20s")
    sums = grouped.windowed_by(near).aggregate(ps.sum_(amount), materialized="sums", value="double")
    windowed = ps.WindowedSerdes.time_windowed("string", 10_000)
    sums.filter(ps.value > 2).to_stream().to("out", key=windowed, value="double")
    short = ps.SlidingWindows.of_time_difference_with_no_grace("5s")
    in_memory = ps.Materialized(name="counts", store_type="in_memory", value="long", caching=False)
    counts = grouped.windowed_by(short).count(in_memory)
    counts.to_stream(ps.key["key"]).to("other", key="string", value="long")


def sliding_texts(builder: ps.StreamsBuilder) -> None:
    """An aggregator whose result depends on the order of records, without a cache."""
    near = ps.SlidingWindows.of_time_difference_with_no_grace("10s")
    table = (
        builder.stream("in", key="string", value="json")
        .group_by_key()
        .windowed_by(near)
        .aggregate(
            lambda: "",
            lambda key, value, text: (f"{text}{value.get('n')}")[-20:],
            ps.Materialized(name="texts", value="string", caching=False),
        )
    )
    windowed = ps.WindowedSerdes.time_windowed("string", 10_000)
    table.to_stream().to("out", key=windowed, value="string")


def final_windows(builder: ps.StreamsBuilder) -> None:
    """Windows that leave when they close, before or after the record that closes them."""
    tumbling = ps.TimeWindows.of_size_and_grace("10s", "5s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    closed = grouped.windowed_by(tumbling).emit_strategy(ps.EmitStrategy.ON_WINDOW_CLOSE)
    at_once = ps.Materialized(name="sums", value="double", caching=False)
    sums = closed.aggregate(ps.sum_(amount), materialized=at_once)
    windowed = ps.WindowedSerdes.time_windowed("string", 10_000)
    sums.to_stream().to("out", key=windowed, value="double")
    hopping = ps.TimeWindows.of_size_with_no_grace("20s").advance_by("5s")
    expired = grouped.windowed_by(hopping).emit_strategy("after_expiry")
    in_memory = ps.Materialized(name="counts", store_type="in_memory", retention="30s")
    counts = expired.count(in_memory.with_caching_disabled())
    counts.filter(ps.value > 1).to_stream(ps.key["key"]).to("other", key="string", value="long")


def final_sliding(builder: ps.StreamsBuilder) -> None:
    """Sliding windows that leave when they close; the first ones, which start at 0, wait."""
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    windows = ps.SlidingWindows.of_time_difference_and_grace("10s", "5s")
    closed = grouped.windowed_by(windows).emit_strategy(ps.EmitStrategy.ON_WINDOW_CLOSE)
    at_once = ps.Materialized(name="sums", value="double", caching=False, retention="60s")
    sums = closed.aggregate(ps.sum_(amount), materialized=at_once)
    windowed = ps.WindowedSerdes.time_windowed("string", 10_000)
    sums.to_stream().to("out", key=windowed, value="double")
    short = ps.SlidingWindows.of_time_difference_with_no_grace("5s")
    expired = grouped.windowed_by(short).emit_strategy("after_expiry")
    in_memory = ps.Materialized(name="counts", store_type="in_memory", retention="40s")
    counts = expired.count(in_memory.with_caching_disabled())
    counts.filter(ps.value > 1).to_stream(ps.key["key"]).to("other", key="string", value="long")


def final_sessions(builder: ps.StreamsBuilder) -> None:
    """Sessions that leave when they close; some of these are merged with an open one later."""
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    windows = ps.SessionWindows.of_inactivity_gap_and_grace("5s", "10s")
    closed = grouped.windowed_by(windows).emit_strategy(ps.EmitStrategy.ON_WINDOW_CLOSE)
    at_once = ps.Materialized(name="sums", value="double", caching=False, retention="60s")
    sums = closed.aggregate(ps.sum_(amount), materialized=at_once)
    windowed = ps.WindowedSerdes.session_windowed("string")
    sums.to_stream().to("out", key=windowed, value="double")
    short = ps.SessionWindows.of_inactivity_gap_with_no_grace("10s")
    expired = grouped.windowed_by(short).emit_strategy("after_expiry")
    counts = expired.count(ps.Materialized(name="counts", caching=False, retention="60s"))
    counts.filter(ps.value > 1).to_stream(ps.key["key"]).to("other", key="string", value="long")


def final_sessions_in_memory(builder: ps.StreamsBuilder) -> None:
    """The store lets go of some sessions before they have left."""
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    windows = ps.SessionWindows.of_inactivity_gap_and_grace("5s", "20s")
    closed = grouped.windowed_by(windows).emit_strategy(ps.EmitStrategy.ON_WINDOW_CLOSE)
    in_memory = ps.Materialized(name="counts", store_type="in_memory", retention="30s")
    counts = closed.count(in_memory.with_caching_disabled())
    windowed = ps.WindowedSerdes.session_windowed("string")
    counts.to_stream().to("out", key=windowed, value="long")


def reduced(builder: ps.StreamsBuilder) -> None:
    grouped = builder.stream("in", key="string", value="json").map_values(amount).group_by_key()
    grouped.reduce(max, "most", value="json").to_stream().to("out", value="json")


def joined(builder: ps.StreamsBuilder) -> None:
    rows = builder.table("table", materialized="rows", key="string", value="json")
    both = ps.left.with_fields(other=ps.right["n"], s=ps.right["s"])
    stream = builder.stream("in", key="string", value="json")
    stream.join(rows, both).to("out", key="string", value="json")


def left_joined(builder: ps.StreamsBuilder) -> None:
    rows = builder.table("table", materialized="rows", key="string", value="json")
    stream = builder.stream("in", key="string", value="json")
    stream.left_join(rows, ps.struct(one=ps.left["n"], other=ps.right["n"])).to(
        "out", key="string", value="json"
    )


def table(builder: ps.StreamsBuilder) -> None:
    rows = builder.table("in", materialized="rows", key="string", value="json")
    rows.to_stream().map_values(amount).to("out", key="string", value="json")


def table_filtered(builder: ps.StreamsBuilder) -> None:
    """A table without a store has no old values: every row that fails is a tombstone."""
    rows = builder.table("in", key="string", value="json")
    rows.filter(ps.value.is_not_null() & (ps.col("s") == "a")).to_stream().to(
        "out", key="string", value="json"
    )


def global_joined(builder: ps.StreamsBuilder) -> None:
    rows = builder.global_table("table", materialized="rows", key="string", value="json")
    stream = builder.stream("in", key="string", value="json")
    stream.join(
        rows, ps.left.with_fields(other=ps.right["n"]), key=ps.col("s")
    ).to("out", key="string", value="json")  # fmt: skip


@dataclass
class Number:
    n: float
    s: str | None = None


def typed(builder: ps.StreamsBuilder) -> None:
    """Values of a declared type, which are checked while they are read."""
    numbers = builder.stream("in", key="string", value=Number).filter(amount > 1)
    numbers.to("out", key="string", value=Number)
    grouped = numbers.group_by(ps.col("s"), key="string", value=Number)
    totals = grouped.aggregate(total=ps.sum_(amount), last=ps.last(ps.value["s"]))
    totals.to("other", key="string", value="json")


def one_by_one(builder: ps.StreamsBuilder) -> None:
    """Functions behind a cached fold see its results when the cache is flushed."""
    seen: set[str] = set()
    counted = builder.stream("in", key="string", value="json").group_by_key().count("counts")
    stream = counted.to_stream().filter(lambda key, n: n % 3 > 0 and not seen.clear())
    stream.map_values(lambda key, n: f"{key} {60 // (4 - n)}").to("out", value="string")
    stream.to("other", key="string", value="long")


def having(builder: ps.StreamsBuilder) -> None:
    """A row that fails is a tombstone only if it was seen before: old values are asked for."""
    grouped = builder.stream("in", key="string", value="json").group_by(
        ps.col("s"), key="string", value="json"
    )
    totals = grouped.aggregate(total=ps.sum_(amount), n=ps.count())
    kept = ps.Materialized(name="some", key="string", value="json")
    some = totals.filter(ps.col("n") > 2, materialized=kept)
    some.to_stream().to("out", key="string", value="json")


def regrouped(builder: ps.StreamsBuilder) -> None:
    """A table's changes go on as new and old values."""
    counted = builder.stream("in", key="string", value="json").group_by_key().count("counts")
    parity = counted.group_by(lambda key, n: (str(n % 2), n), key="string", value="long")
    parity.count("parity").to_stream().to("out", key="string", value="long")


def suppressed(builder: ps.StreamsBuilder) -> None:
    """The buffer notes the position of each window's last record in its changelog."""
    tumbling = ps.TimeWindows.of_size_and_grace("30s", "20s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    totals = grouped.windowed_by(tumbling).aggregate(
        ps.sum_(amount), materialized="sums", value="double"
    )
    final = totals.suppress(ps.Suppressed.until_window_closes())
    name = ps.key["key"] + "@" + ps.key["start"].cast(str)
    final.to_stream(name).to("out", key="string", value="double")


def suppressed_rows(builder: ps.StreamsBuilder) -> None:
    """Rows that wait for a while, or until there are too many; tombstones are let through."""
    rows = builder.table("in", materialized="rows", key="string", value="json")
    full = ps.BufferConfig.max_records(2).emit_early_when_full()
    rows.suppress(ps.Suppressed.until_time_limit("1h", full)).to_stream().to(
        "out", key="string", value="json"
    )
    some = rows.filter(amount > 1).suppress(
        ps.Suppressed.until_time_limit("10s", ps.BufferConfig.unbounded())
    )
    # What is buffered again behind another buffer has the position of its record.
    small = ps.BufferConfig.max_bytes(150).emit_early_when_full()
    again = some.suppress(ps.Suppressed.until_time_limit("5s", small))
    again.to_stream().to("other", key="string", value="json")


def suppressed_join(builder: ps.StreamsBuilder) -> None:
    """Changes of two tables in turns: one buffer holds them all back."""
    left = builder.table("in", materialized="left", key="string", value="json")
    right = builder.table("table", materialized="right", key="string", value="json")
    both = left.left_join(
        right, lambda one, other: [one.get("n"), other and other.get("n")],
        materialized=ps.Materialized(name="both", value="json"),
    )  # fmt: skip
    few = ps.BufferConfig.max_records(2).emit_early_when_full()
    held = both.suppress(ps.Suppressed.until_time_limit("10s", few))
    held.to_stream().to("out", key="string", value="json")


def suppressed_sessions(builder: ps.StreamsBuilder) -> None:
    """One final result per session: tombstones of merged sessions are left out."""
    windows = ps.SessionWindows.of_inactivity_gap_and_grace("10s", "5s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    counted = grouped.windowed_by(windows).count("counts")
    final = counted.suppress(ps.Suppressed.until_window_closes())
    final.to_stream().to("out", key=ps.WindowedSerdes.session_windowed("string"), value="long")


def suppressed_by_functions(builder: ps.StreamsBuilder) -> None:
    """A function with side effects behind the buffer: the cache of the count hands over to both."""
    seen: set[str] = set()
    counted = builder.stream("in", key="string", value="json").group_by_key().count("counts")
    late = counted.suppress(
        ps.Suppressed.until_time_limit("10s", ps.BufferConfig.unbounded())
    ).to_stream()
    late.filter(lambda key, n: n % 2 > 0 and not seen.clear()).to("out", value="long")


def kept_windows(builder: ps.StreamsBuilder) -> None:
    """A store that keeps windows long after they are closed: batches may close them uncached."""
    overlapping = ps.TimeWindows.of_size_and_grace("25s", "0s").advance_by("10s")
    kept = ps.Materialized(name="sums", value="double", retention="1h")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    table = grouped.windowed_by(overlapping).aggregate(ps.sum_(amount), materialized=kept)
    name = ps.key["key"] + "@" + ps.key["start"].cast(str)
    table.to_stream(name).to("out", key="string", value="double")


def kept_counts(builder: ps.StreamsBuilder) -> None:
    """Windowed keys on the output topic, and records that are too late for their window."""
    tumbling = ps.TimeWindows.of_size_and_grace("10s", "5s")
    kept = ps.Materialized(name="counts", retention="1h")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    counted = grouped.windowed_by(tumbling).count(kept)
    windowed = ps.WindowedSerdes.time_windowed("string", "10s")
    counted.to_stream().to("out", key=windowed, value="long")


def sessions(builder: ps.StreamsBuilder) -> None:
    """Sessions that grow, merge and close; a key is late if all that it touches is closed."""
    windows = ps.SessionWindows.of_inactivity_gap_and_grace("10s", "5s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    counted = grouped.windowed_by(windows).count("counts")
    windowed = ps.WindowedSerdes.session_windowed("string")
    counted.to_stream().to("out", key=windowed, value="long")
    name = ps.key["key"] + "@" + ps.key["start"].cast(str) + "-" + ps.key["end"].cast(str)
    counted.to_stream(name).to("other", key="string", value="long")


def kept_sessions(builder: ps.StreamsBuilder) -> None:
    """Sessions that stay in their store; the texts of both parts show how they were merged."""
    windows = ps.SessionWindows.of_inactivity_gap_and_grace("20s", "15s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    kept = ps.Materialized(name="texts", value="string", retention="1h")
    texts = grouped.windowed_by(windows).aggregate(
        lambda: "<", lambda key, value, text: f"{text}{value}"[-40:],
        lambda key, one, other: f"{key}({one}|{other})"[-40:], kept,
    )  # fmt: skip
    texts.to_stream(lambda windowed, _: f"{windowed.key}@{windowed.start}-{windowed.end}").to(
        "out", key="string", value="string"
    )


def windows_in_memory(builder: ps.StreamsBuilder) -> None:
    """Windows and sessions that expire one by one, not in segments."""
    in_memory: Any = {"store_type": "in_memory", "value": "long"}
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    tumbling = ps.TimeWindows.of_size_and_grace("10s", "5s").advance_by("5s")
    # A cache in front of them also shows what the store has let go, so it wants single records.
    kept = ps.Materialized(name="counts", retention="40s", **in_memory).with_caching_disabled()
    counted = grouped.windowed_by(tumbling).count(kept)
    counted.to_stream(ps.key["key"]).to("out", key="string", value="long")
    apart = ps.SessionWindows.of_inactivity_gap_and_grace("10s", "5s")
    sessions = grouped.windowed_by(apart).count(ps.Materialized(name="sessions", **in_memory))
    windowed = ps.WindowedSerdes.session_windowed("string")
    sessions.to_stream().to("other", key=windowed, value="long")


def session_sums(builder: ps.StreamsBuilder) -> None:
    """Aggregates over expressions, and a filter that asks for old values."""
    windows = ps.SessionWindows.of_inactivity_gap_and_grace("5s", "10s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    totals = grouped.windowed_by(windows).aggregate(
        total=ps.sum_(amount), least=ps.min_(amount), seen=ps.collect(ps.col("s")), n=ps.count()
    )
    totals.filter(ps.col("n") > 1).to_stream().map_values(ps.value).to(
        "out", key=ps.WindowedSerdes.session_windowed("string"), value="json"
    )
    sums = grouped.windowed_by(windows).aggregate(ps.sum_(amount), value="double")
    sums.to_stream(ps.key["key"]).to("other", key="string", value="double")


def session_documents(builder: ps.StreamsBuilder) -> None:
    """States that the store changes, a reduction, and functions of the user behind the cache."""
    seen: set[str] = set()
    windows = ps.SessionWindows.of_inactivity_gap_and_grace("10s", "10s")
    stream = builder.stream("in", key="string", value="json")
    grouped = stream.filter(ps.value.is_not_null()).group_by_key()
    documents = grouped.windowed_by(windows).aggregate(
        lambda: {"seen": ()},
        lambda key, value, state: {"seen": [*state["seen"], type_name(state["seen"]), key][-5:]},
        lambda key, one, other: {"seen": [*one["seen"], type_name(one["seen"]), *other["seen"]]},
        value="json",
    )
    documents.to_stream(lambda windowed, _: str(windowed.start)).to("out", value="json")
    latest = grouped.windowed_by(windows).reduce(
        lambda one, other: {"n": other.get("n"), "before": one.get("n")}, value="json"
    )
    latest.to_stream(lambda windowed, _: seen.clear() or f"{windowed.end}").to(
        "other", value="json"
    )


def table_mapped(builder: ps.StreamsBuilder) -> None:
    """Tombstones stay tombstones, and the function does not see them."""
    rows = builder.table("in", key="string", value="json")
    rows.map_values(ps.struct(n=amount)).to_stream().to("out", key="string", value="json")


def global_left_joined(builder: ps.StreamsBuilder) -> None:
    rows = builder.global_table("table", materialized="rows", key="string", value="json")
    stream = builder.stream("in", key="string", value="json")
    both = ps.struct(one=ps.left["n"], other=ps.right["n"])
    stream.left_join(rows, both, key=ps.col("s")).to("out", value="json")


def mapped(builder: ps.StreamsBuilder) -> None:
    """Functions that give new keys, none or several of them."""
    stream = builder.stream("in", key="string", value="json")
    stream.map(lambda key, value: (None if key == "k2" else key, value)).to(
        "out", key="string", value="json"
    )
    several = stream.flat_map(
        lambda key, value: [] if value is None else [(key, 1), (str(value.get("s")), 2)]
    )
    several.to("other", key="string", value="json")


def reduced_by_functions(builder: ps.StreamsBuilder) -> None:
    """A predicate, a mapper and a reducer that are functions."""
    stream = builder.stream("in", key="string", value="json")
    texts = stream.filter(lambda key, value: value is not None).map_values(
        lambda key, value: f"{key} {value.get('n')};"
    )
    reduced = texts.group_by_key(key="string", value="string").reduce(
        lambda one, other: (one + other)[-40:], "all", value="string"
    )
    reduced.to_stream().to("out", key="string", value="string")


def joined_by_a_function(builder: ps.StreamsBuilder) -> None:
    rows = builder.table("table", materialized="rows", key="string", value="json")
    stream = builder.stream("in", key="string", value="json")
    joined = stream.join(rows, lambda one, other: [one.get("n"), other.get("n")])
    joined.to("out", key="string", value="json")


class _Stamped(ColumnSupplier):
    """Puts the time of a record in front of its value, and the offset behind it."""

    reads_origins = True

    def __call__(self) -> _Stamp:
        return _Stamp()

    def over_columns(self, batch: Any) -> list[Any] | None:
        if batch.origins is None:
            return None
        offsets, times = batch.origins.offsets.tolist(), batch.timestamps.tolist()
        rows = zip(times, batch.values.values(), offsets, strict=True)
        return [[time, value, offset] for time, value, offset in rows]


class _Stamp(ps.FixedKeyProcessor[Any, Any, Any]):
    def process(self, record: ps.FixedKeyRecord[Any, Any]) -> None:
        metadata = self.context.record_metadata
        offset = None if metadata is None else metadata.offset
        self.context.forward(record.with_value([record.timestamp, record.value, offset]))


def processed(builder: ps.StreamsBuilder) -> None:
    """A processor that says how it works on a whole batch."""
    stream = builder.stream("in", key="string", value="json")
    stream.process_values(_Stamped()).to("out", key="string", value="json")


def with_lambdas(builder: ps.StreamsBuilder) -> None:
    """Functions whose bytecode shows that they only compute: nobody declares them."""
    stream = builder.stream("in", key="string", value="json")
    known = stream.filter(lambda key, value: value is not None and value.get("n") is not None)
    known.map_values(lambda key, value: {**value, "k": key, "n": value["n"] + 1}).to(
        "out", key="string", value="json"
    )
    texts = stream.filter_not(lambda key, value: value is None).flat_map(
        lambda key, value: ((name, str(part)) for name, part in sorted(value.items()))
    )
    words = texts.select_key(lambda key, text: text[:1] or None).flat_map_values(
        lambda text: (part for part in text.split("b"))
    )
    words.to("other", key="string", value="string")


def lambda_sums(builder: ps.StreamsBuilder) -> None:
    """A store of doubles changes ints between two records, and the text of a state shows it."""
    numbers = builder.stream("in", key="string", value="json")
    table = numbers.group_by_key().aggregate(
        lambda: 0,
        lambda key, value, total: len(str(total)) + (value.get("n") or 0.25),
        value="double",
    )
    table.to_stream(lambda key, total: f"{key}{total:.2f}").to("out", value="double")


def lambda_documents(builder: ps.StreamsBuilder) -> None:
    """States that are objects: a tuple becomes a list in the store."""
    numbers = builder.stream("in", key="string", value="json")
    table = numbers.group_by_key().aggregate(
        lambda: {"seen": ()},
        lambda key, value, state: {
            "seen": [*state["seen"], type_name(state["seen"]), key][-5:], "last": value.get("s"),
        },
        value="json",
    )  # fmt: skip
    table.to_stream().to("out", value="json")


def type_name(value: Any) -> str:
    return "list" if isinstance(value, list) else "tuple"


def lambda_windows(builder: ps.StreamsBuilder) -> None:
    tumbling = ps.TimeWindows.of_size_and_grace("10s", "5s").advance_by("5s")
    kept = ps.Materialized(name="texts", value="string", retention="1h")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    table = grouped.windowed_by(tumbling).aggregate(
        lambda: "", lambda key, value, text: (f"{text}{key}{value};")[-40:], materialized=kept
    )
    table.to_stream(lambda windowed, _: f"{windowed.key}@{windowed.start}-{windowed.end}").to(
        "out", value="string"
    )


def lambda_joined(builder: ps.StreamsBuilder) -> None:
    rows = builder.table("table", materialized="rows", key="string", value="json")
    stream = builder.stream("in", key="string", value="json")
    joined = stream.left_join(
        rows, lambda key, one, other: f"{key}{one.get('n')}{other and other.get('s')}"
    )
    joined.to("out", key="string", value="string")


def lambda_reduced(builder: ps.StreamsBuilder) -> None:
    """Reductions with windows and without, of objects and of nothing."""
    tumbling = ps.TimeWindows.of_size_and_grace("30s", "20s")
    stream = builder.stream("in", key="string", value="json")
    grouped = stream.filter(lambda _, value: value is not None).group_by_key()
    latest = grouped.reduce(lambda one, other: other if other.get("s") else one, value="json")
    latest.to_stream().to("other", value="json")
    windowed = grouped.windowed_by(tumbling).reduce(
        lambda one, other: {"n": other.get("n"), "before": one.get("n")}, value="json"
    )
    windowed.to_stream(lambda windowed, _: str(windowed.start)).to("windows", value="json")


def streams_joined(builder: ps.StreamsBuilder) -> None:
    """Records of both topics find each other within a window, also late ones."""
    left = builder.stream("in", key="string", value="json").filter(ps.value.is_not_null())
    right = builder.stream("table", key="string", value="json")
    both = ps.struct(one=ps.left["n"], other=ps.right["n"], s=ps.right["s"])
    windows = ps.JoinWindows.of_time_difference_and_grace("10s", "5s")
    left.join(right, both, windows, value="json", other_value="json").to(
        "out", key="string", value="json"
    )


def streams_joined_in_a_row(builder: ps.StreamsBuilder) -> None:
    """Windows that look back only, what is behind the join is counted, and a copy is made."""
    left = builder.stream("in", key="string", value="json")
    right = builder.stream("table", key="string", value="string")
    left.to("other", value="json")
    windows = ps.JoinWindows.of_time_difference_with_no_grace("15s").before("20s").after("-5s")
    joined = left.join(
        right, lambda key, one, other: f"{key}{one.get('n')}{other}"[:12], windows,
        key="string", value="json", other_value="string",
    )  # fmt: skip
    counted = joined.group_by_key(key="string", value="string").count("counts")
    counted.to_stream().to("out", key="string", value="long")


def streams_left_joined(builder: ps.StreamsBuilder) -> None:
    """Records without a partner wait until their window has closed."""
    left = builder.stream("in", key="string", value="json")
    right = builder.stream("table", key="string", value="json")
    windows = ps.JoinWindows.of_time_difference_and_grace("10s", "5s").after("5s")
    left.left_join(
        right, lambda key, one, other: [key, one.get("n"), other and other.get("s")], windows,
        value="json", other_value="json",
    ).to("out", key="string", value="json")  # fmt: skip


def streams_outer_joined(builder: ps.StreamsBuilder) -> None:
    """Either side may be missing; values that are not alike, and new keys before the join."""
    left = builder.stream("in", key="string", value="json")
    right = builder.stream("table", key="string", value="string")
    short = right.select_key(lambda key, value: key and key[:1])
    windows = ps.JoinWindows.of_time_difference_and_grace("5s", "10s")
    left.outer_join(
        short, lambda one, other: f"{one}{other}"[:20], windows,
        key="string", value="json", other_value="string",
    ).to("out", key="string", value="string")  # fmt: skip


def streams_joined_at_once(builder: ps.StreamsBuilder) -> None:
    """Windows without a grace period of their own: nothing waits."""
    left = builder.stream("in", key="string", value="json")
    right = builder.stream("table", key="string", value="json")
    both = ps.struct(one=ps.left["n"], other=ps.right["n"])
    left.left_join(right, both, java.JoinWindows.of("10s"), value="json", other_value="json").to(
        "out", key="string", value="json"
    )


def streams_joined_in_memory(builder: ps.StreamsBuilder) -> None:
    """Stores in memory let each record go by itself, and one without a value moves their time."""
    left = builder.stream("in", key="string", value="json")
    right = builder.stream("table", key="string", value="json")
    windows = ps.JoinWindows.of_time_difference_and_grace("10s", "5s")
    in_memory = ps.StreamJoined(store_type="in_memory", value="json", other_value="json")
    left.outer_join(
        right, lambda one, other: [one and one.get("n"), other and other.get("s")], windows,
        stream_joined=in_memory,
    ).to("out", key="string", value="json")  # fmt: skip


def by_value(record: Any, partition_time: int) -> int:
    """Takes some records for older than their topic does, and some for the newest."""
    if record.headers or not isinstance(record.value, dict):
        return max(partition_time, 0)
    return max(record.timestamp - len(record.value.get("s") or "") * 5_000, 0)


def timed_rows(builder: ps.StreamsBuilder) -> None:
    """Extractors of two inputs decide in which order their records come."""
    rows = builder.table(
        "table", materialized="rows", key="string", value="json", timestamp_extractor=by_value
    )
    stream = builder.stream("in", key="string", value="json", timestamp_extractor=by_value)
    stream.join(rows, ps.left.with_fields(other=ps.right["n"])).to(
        "out", key="string", value="json"
    )


def timed_windows(builder: ps.StreamsBuilder) -> None:
    """Functions behind a cache, which see the time and the position of a record."""
    stream = builder.stream("in", key="string", value="json", timestamp_extractor=by_value)
    windows = ps.TimeWindows.of_size_and_grace("30s", "20s")
    counted = stream.group_by_key().windowed_by(windows).count("counts")
    names = counted.to_stream(lambda windowed, n: f"{windowed.key}@{windowed.start // (n % 4)}")
    names.to("out", key="string", value="long")


def streams_self_joined(builder: ps.StreamsBuilder) -> None:
    """Each record comes to both sides, to the left one first, and is joined with itself."""
    stream = builder.stream("in", key="string", value="json").filter(ps.value.is_not_null())
    short = stream.map_values(lambda value: value.get("s"))
    windows = ps.JoinWindows.of_time_difference_and_grace("10s", "5s")
    stream.left_join(
        short, lambda one, other: [one.get("n"), other], windows,
        value="json", other_value="json",
    ).to("out", key="string", value="json")  # fmt: skip
    short.outer_join(
        stream, lambda one, other: [other and other.get("n"), one], windows,
        value="json", other_value="json",
    ).to("other", key="string", value="json")  # fmt: skip


def rejoined(builder: ps.StreamsBuilder) -> None:
    """What goes around a join of two streams meets its results, and is counted with them."""
    left = builder.stream("in", key="string", value="json")
    right = builder.stream("table", key="string", value="json")
    windows = ps.JoinWindows.of_time_difference_and_grace("10s", "5s")
    joined = left.join(
        right, lambda one, other: [one.get("n"), other.get("n")], windows,
        value="json", other_value="json",
    )  # fmt: skip
    both = joined.merge(right.map_values(lambda value: value and value.get("s")))
    both.to("out", key="string", value="json")
    both.group_by_key(key="string", value="json").count("counts").to_stream().to(
        "other", key="string", value="long"
    )


def met(builder: ps.StreamsBuilder) -> None:
    """Arms of a branch and another input meet in a stream whose rows are kept."""
    arms = (
        builder.stream("in", key="string", value="json")
        .split("arm-")
        .branch(amount > 3, ps.Branched.as_("large"))
        .default_branch(ps.Branched.as_("rest"))
    )
    words = arms["arm-rest"].flat_map_values(lambda value: list((value or {}).get("s") or "xy"))
    names = arms["arm-large"].map_values(lambda value: "large")
    others = builder.stream("table", key="string", value="json").map_values(
        lambda value: value and value.get("s")
    )
    every = names.merge(others).merge(words)
    every.to("out", key="string", value="string")
    rows = every.to_table("rows", key="string", value="string")
    rows.to_stream().map_values(str).to("other", key="string", value="string")


def met_before_a_join(builder: ps.StreamsBuilder) -> None:
    """Two repartition topics, whose order decides between records of the same time."""
    stream = builder.stream("in", key="string", value="json").filter(ps.col("s").is_not_null())
    keyed = stream.select_key(ps.col("s")).map_values(ps.col("n"))
    marked = keyed.map_values(lambda n: [n])
    marked.join(
        marked.merge(keyed), lambda one, other: [one, other],
        ps.JoinWindows.of_time_difference_and_grace("5s", "5s"),
        key="string", value="json", other_value="json",
    ).to("out", key="string", value="json")  # fmt: skip


def met_twice(builder: ps.StreamsBuilder) -> None:
    """A stream merged with itself, whose last values are summed by functions behind a cache."""
    stream = builder.stream("in", key="string", value="json")
    doubled = stream.merge(stream).map_values(lambda value: (value or {}).get("n") or 0)
    totals = doubled.group_by_key(key="string", value="json").aggregate(
        lambda: 0.0, lambda key, n, total: total / 2 + n, value="double"
    )
    seen: list[Any] = []
    totals.to_stream().peek(lambda key, total: seen.append(total)).to("out", value="double")
    doubled.to("other", key="string", value="json")


def batched(builder: ps.StreamsBuilder) -> None:
    """Functions of whole columns."""

    def doubled(values: np.ndarray) -> np.ndarray:
        return values * 2

    def summed(rows: pd.DataFrame) -> pd.Series:
        return rows["n"] + rows["n"]

    def known(values: list[Any]) -> list[bool]:
        return [value is not None and value.get("n") is not None for value in values]

    def paired(keys: list[Any], values: list[Any]) -> tuple[list[Any], list[Any]]:
        return keys, [[value["n"], key] for key, value in zip(keys, values, strict=True)]

    some = builder.stream("in", key="string", value="json").filter(known, batch=True)
    some.map_values(amount).map_values(doubled, batch=True).to("out", value="json")
    some.map_values(summed, batch=True).to("other", value="json")
    several = some.map(paired, batch=True)
    several.filter_not(lambda keys, values: [k == "k2" for k in keys], batch=True).flat_map_values(
        lambda values: [value[:1] * len(value[1] or "") for value in values], batch=True
    ).to("windows", value="json")


def table_kept(builder: ps.StreamsBuilder) -> None:
    """Filters that are stored and filters that are not, behind each other."""
    rows = builder.table("in", materialized="rows", key="string", value="json")
    kept = rows.filter(amount > 1, "kept").filter_not(lambda key, value: key == "k2")
    kept.map_values(ps.struct(n=amount + 1), "more", value="json").to_stream().to(
        "out", value="json"
    )
    named = rows.filter(ps.col("s").is_not_null())
    named.map_values(lambda key, value: f"{key}{value['s']}", "named", value="string")
    named.to_stream().to("other", value="json")


def table_regrouped(builder: ps.StreamsBuilder) -> None:
    """Rows move between groups, and leave them; in one group, a change is one change."""
    rows = builder.table("in", materialized="rows", key="string", value="json")
    grouped = rows.group_by(
        lambda key, value: (value.get("s"), value) if value.get("n") else None,
        key="string", value="json",
    )  # fmt: skip
    grouped.count("counts").to_stream().to("out", key="string", value="long")
    summed = grouped.aggregate(
        lambda: 0.5, lambda key, value, sum_: sum_ + value["n"],
        lambda key, value, sum_: sum_ - value["n"] if sum_ < 10 else None,
        "sums", value="double",
    )  # fmt: skip
    summed.filter(lambda key, value: value > 2).to_stream().to("other", value="double")


def table_reduced(builder: ps.StreamsBuilder) -> None:
    """A reduction of texts, whose groups become empty; a table of counts behind it."""
    rows = builder.table("in", materialized="rows", key="string", value="json")
    grouped = rows.group_by(
        lambda key, value: (str(value.get("n"))[:1], f"{key};"),
        key="string",
        value="string",
    )
    reduced = grouped.reduce(
        lambda one, other: one + other,
        lambda one, other: one.replace(other, "", 1) or None,
        "texts",
    )
    reduced.to_stream().to("out", key="string", value="string")
    by_size = reduced.group_by(lambda key, text: (str(len(text)), text), value="string")
    by_size.count("sizes").to_stream().to("other", value="long")


def counts_filtered(builder: ps.StreamsBuilder) -> None:
    """Old values of folds, with windows and without: the first one is the initial state."""
    stream = builder.stream("in", key="string", value="json")
    counted = stream.group_by_key().count("counts")
    counted.filter(lambda key, n: n % 3 != 1).to_stream().to("out", value="long")
    tumbling = ps.TimeWindows.of_size_and_grace("30s", "20s")
    totals = stream.group_by_key().windowed_by(tumbling).aggregate(
        lambda: 0, lambda key, value, total: total + (1 if value is None else value.get("n") or 1),
        materialized="sums", value="double",
    )  # fmt: skip
    totals.filter(lambda key, value: value > 3).to_stream(lambda key, _: f"{key}").to(
        "other", key="string", value="double"
    )
    most = stream.map_values(amount).group_by_key().reduce(max, "most", value="json")
    doubled = most.map_values(lambda n: n * 2, "doubled", value="json")
    doubled.to_stream().to("windows", value="json")


def cogrouped(builder: ps.StreamsBuilder) -> None:
    """One stream alone: the aggregation and what stands for all aggregations of a cogroup."""
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    table = grouped.cogroup(lambda key, value, text: (f"{text}{value}")[-30:]).aggregate(
        lambda: "", "texts", value="string"
    )
    table.to_stream().to("out", key="string", value="string")


def cogrouped_windows(builder: ps.StreamsBuilder) -> None:
    """Two streams in one store without a cache, each with a clock of its own."""
    left = builder.stream("in", key="string", value="json").group_by_key()
    right = builder.stream("table", key="string", value="json").group_by_key()
    table = (
        left.cogroup(lambda key, value, text: (f"{text}{value and value.get('n')}")[-30:])
        .cogroup(right, lambda key, value, text: (f"{text}!{value and value.get('s')}")[-30:])
        .windowed_by(ps.TimeWindows.of_size_and_grace("10s", "5s").advance_by("5s"))
        .aggregate(lambda: "", ps.Materialized(name="texts", value="string", caching=False))
    )
    windowed = ps.WindowedSerdes.time_windowed("string", 10_000)
    table.to_stream().to("out", key=windowed, value="string")


#: Programs whose functions are declared pure; those of others keep their nodes from columns.
WITH_FUNCTIONS = [mapped, reduced_by_functions, joined_by_a_function]
#: Programs whose functions raise for some records.
RAISING = [one_by_one, timed_windows]
#: Programs that leave the results of a fold to its cache, and run by record without one.
BEHIND_A_CACHE = [one_by_one, regrouped, session_documents, suppressed_by_functions, met_twice]
BUILDS = [
    stateless, arithmetic, typed, divided, merged, merged_counts, moved, moved_counts, counts,
    some_counts, repartitioned, sums, least,
    doubles, windows, one_by_one, having, regrouped, suppressed,
    suppressed_rows, suppressed_join, suppressed_sessions, suppressed_by_functions,
    hopping, kept_windows, kept_counts,
    sessions, windows_in_memory, kept_sessions, session_sums, session_documents,
    sliding, sliding_texts, final_windows, final_sliding, final_sessions, final_sessions_in_memory,
    reduced, joined, left_joined, table, table_filtered, table_mapped, global_joined,
    global_left_joined, mapped, reduced_by_functions, joined_by_a_function, processed,
    with_lambdas, lambda_sums, lambda_documents, lambda_windows,
    lambda_joined, lambda_reduced, streams_joined, streams_joined_in_a_row,
    streams_left_joined, streams_outer_joined, streams_joined_at_once,
    streams_joined_in_memory, timed_rows, timed_windows,
    streams_self_joined, rejoined, met, met_before_a_join,
    met_twice, batched,
    table_kept, table_regrouped, table_reduced, counts_filtered, cogrouped,
    cogrouped_windows, *TABLE_BUILDS,
]  # fmt: skip
