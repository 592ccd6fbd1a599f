"""Workloads of one operator each, to see what it costs record by record and over columns."""

from __future__ import annotations

from collections.abc import Callable

import penstock as ps
from bench.workloads import Topics

Build = Callable[[ps.StreamsBuilder, Topics], None]


def table_join(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """Join the newest event of each user with that of the other topic."""
    left = builder.table(topics.input, materialized="left", key="string", value="json")
    right = builder.table(topics.table, materialized="right", key="string", value="json")
    both = ps.struct(one=ps.left["amount"], other=ps.right["amount"])
    joined = left.join(right, both)
    joined.to_stream().to(topics.output, key="string", value="json")


def stream_join_in_memory(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """Join two streams whose windows are in memory; those without a partner are sent, too."""
    left = builder.stream(topics.input, key="string", value="json")
    right = builder.stream(topics.table, key="string", value="json")
    left.left_join(
        right,
        lambda one, other: {"one": one["amount"], "other": other and other["amount"]},
        ps.JoinWindows.of_time_difference_and_grace("10s", "5s"),
        stream_joined=ps.StreamJoined(store_type="in_memory", value="json", other_value="json"),
    ).to(topics.output, key="string", value="json")


def timed(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """Take the time of each event from its value, and count the events per minute."""
    stream = builder.stream(
        topics.input, key="string", value="json",
        timestamp_extractor=lambda record, _: record.value["ts"],
    )  # fmt: skip
    minutes = stream.group_by_key().windowed_by(ps.TimeWindows.of_size_and_grace("1m", "30s"))
    counted = minutes.count("counts").to_stream(lambda windowed, _: windowed.key)
    counted.to(topics.output, key="string", value="long")


def merged(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """Merge two topics, whose records come in turns."""
    left = builder.stream(topics.input, key="string", value="json")
    right = builder.stream(topics.table, key="string", value="json")
    large = right.filter(lambda _, event: event["amount"] > 50)
    left.merge(large).to(topics.output, key="string", value="json")


def self_join(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """Join each event with the same user's large events within ten seconds."""
    stream = builder.stream(topics.input, key="string", value="json")
    stream.join(
        stream.filter(lambda _, event: event["amount"] > 50),
        lambda one, other: {"one": one["amount"], "other": other["amount"]},
        ps.JoinWindows.of_time_difference_and_grace("10s", "5s"),
        value="json",
        other_value="json",
    ).to(topics.output, key="string", value="json")


def final_windows(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """Count the events of each user and minute, and send each count when its minute is over."""
    stream = builder.stream(topics.input, key="string", value="bytes")
    windows = ps.TimeWindows.of_size_and_grace("1m", "5s")
    minutes = stream.group_by_key().windowed_by(windows).emit_strategy("on_window_close")
    at_once = ps.Materialized(name="counts", caching=False)
    counted = minutes.count(at_once).to_stream(lambda windowed, _: windowed.key)
    counted.to(topics.output, key="string", value="long")


def sliding(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """Count the events of each user within ten seconds."""
    stream = builder.stream(topics.input, key="string", value="bytes")
    near = ps.SlidingWindows.of_time_difference_and_grace("10s", "5s")
    counted = stream.group_by_key().windowed_by(near).count("counts")
    counted.to_stream(lambda windowed, _: windowed.key).to(
        topics.output, key="string", value="long"
    )


class Totals(ps.FixedKeyProcessor[str, dict[str, object], int]):
    """Counts the events of each key in a store of its own."""

    def process(self, record: ps.FixedKeyRecord[str, dict[str, object]]) -> None:
        store = self.context.get_state_store("totals")
        total = (store.get(record.key) or 0) + 1
        store.put(record.key, total)
        self.context.forward(record.with_value(total))


def processed(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """A processor with a store behind a filter, and a count of what it forwards."""
    store = ps.Stores.key_value_store_builder(
        ps.Stores.persistent_key_value_store("totals"), ps.Serdes.string(), ps.Serdes.long()
    )
    builder.add_state_store(store.with_caching_enabled())
    kept = builder.stream(topics.input, key="string", value="json").filter(ps.col("amount") > 10)
    counted = kept.process_values(Totals, "totals").group_by_key(key="string", value="long").count()
    counted.to_stream().to(topics.output, key="string", value="long")


def final_sessions(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """Count the events of each session, and send each session when it has closed."""
    stream = builder.stream(topics.input, key="string", value="json").group_by_key()
    windows = ps.SessionWindows.of_inactivity_gap_and_grace("1s", "1s")
    closed = stream.windowed_by(windows).emit_strategy(ps.EmitStrategy.ON_WINDOW_CLOSE)
    names = closed.count("sessions").to_stream(ps.key["key"])
    names.to(topics.output, key="string", value="long")


#: By name: both topics have events. Half of them come from the second one.
OF_TWO_TOPICS: dict[str, Build] = {
    "table join": table_join,
    "stream-stream left join, in memory": stream_join_in_memory,
    "merge of two topics": merged,
}
#: By name: all events come from one topic.
OF_ONE_TOPIC: dict[str, Build] = {
    "timestamp extractor": timed,
    "windows with final results": final_windows,
    "sliding windows": sliding,
    "join of a stream with itself": self_join,
    "processor with a store": processed,
    "sessions with final results": final_sessions,
}
