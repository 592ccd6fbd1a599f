"""The application under test: three topologies whose results plain Python can compute.

The application's process is ``app``; what it must have written is computed by ``expected``.
"""

from __future__ import annotations

from typing import Any

import penstock as ps

APPLICATION = "cluster-test"
LINES, LEFT, RIGHT, AMOUNTS = "lines", "left", "right", "amounts"
COUNTS, PAIRS, SUMS, SUMMARIES = "counts", "pairs", "sums", "summaries"
INPUTS = (LINES, LEFT, RIGHT, AMOUNTS)
OUTPUTS = (COUNTS, PAIRS, SUMS, SUMMARIES)
COUNT_STORE, SUM_STORE, JOIN_NAME = "word-counts", "sum-store", "pair"

#: Two records are a pair when their event times are at most this far apart.
JOIN_WINDOW_MS = 2_000
#: Long enough that no stall of one side makes a record of the other side late.
JOIN_GRACE_MS = 24 * 3_600_000
#: The stretch of stream time that one summary covers.
SUMMARY_MS = 2_000


def build() -> ps.Topology:
    """Build one topology that holds the word count, the join and the processor."""
    builder = ps.StreamsBuilder()
    add_all(builder)
    return builder.build()


def add_all(builder: ps.StreamsBuilder) -> dict[str, ps.KStream[Any, Any]]:
    """Add the word count, the join and the processor, and return the stream of each input."""
    lines = _add_word_count(builder)
    left, right = _add_join(builder)
    amounts = _add_sums(builder)
    return {LINES: lines, LEFT: left, RIGHT: right, AMOUNTS: amounts}


def _add_word_count(builder: ps.StreamsBuilder) -> ps.KStream[str, str]:
    """Count words behind a repartition; without a cache each word counts 1, 2, 3 and so on."""
    lines = builder.stream(LINES, key="string", value="string")
    (
        lines.flat_map_values(str.split)
        .group_by(lambda _, word: word, ps.Grouped(key="string", value="string"))
        .count(ps.Materialized(name=COUNT_STORE, key="string", value="long"))
        .to_stream()
        .to(COUNTS, key="string", value="long")
    )
    return lines


def _add_join(builder: ps.StreamsBuilder) -> tuple[ps.KStream[str, str], ps.KStream[str, str]]:
    """Join two streams by key; every pair names both of its records."""
    left = builder.stream(LEFT, key="string", value="string")
    right = builder.stream(RIGHT, key="string", value="string")
    windows = ps.JoinWindows.of_time_difference_and_grace(JOIN_WINDOW_MS, JOIN_GRACE_MS)
    joined = ps.StreamJoined(
        key="string",
        value="string",
        other_value="string",
        name=JOIN_NAME,
        store_name=JOIN_NAME,
    )
    pairs = left.join(right, lambda one, other: f"{one}+{other}", windows, stream_joined=joined)
    pairs.to(PAIRS, key="string", value="string")
    return left, right


def _add_sums(builder: ps.StreamsBuilder) -> ps.KStream[str, int]:
    """Run the processor; a key with an ``@`` marks a summary, the others are running sums."""
    store = ps.Stores.key_value_store_builder(
        ps.Stores.persistent_key_value_store(SUM_STORE), "string", "long"
    )
    builder.add_state_store(store)
    amounts = builder.stream(AMOUNTS, key="string", value="long")
    results = amounts.process(RunningSums, SUM_STORE, name="running-sums")
    results.filter(lambda key, _: "@" not in key).to(SUMS, key="string", value="long")
    results.filter(lambda key, _: "@" in key).to(SUMMARIES, key="string", value="long")
    return amounts


class RunningSums(ps.Processor[str, int, str, int]):
    """Sums per key and, per task, counts the records of each stretch of stream time.

    A stretch is counted by stream time, which never goes back. A stretch that has ended
    therefore cannot change any more, and its summary is the same whenever the punctuation
    fires. Entries of the store whose keys begin with ``!`` are the processor's own notes.
    """

    def init(self, context: Any) -> None:
        self._store = context.get_state_store(SUM_STORE)
        self._partition = context.task_id.partition
        context.schedule(SUMMARY_MS, ps.PunctuationType.STREAM_TIME, self._summarise)
        context.schedule(1_000, ps.PunctuationType.WALL_CLOCK_TIME, self._tick)

    def process(self, record: ps.Record[str, int]) -> None:
        total = self._add(record.key, record.value)
        clock = f"!time:{self._partition}"
        stream_time = max(self._store.get(clock) or 0, record.timestamp)
        self._store.put(clock, stream_time)
        self._add(f"!stretch:{self._partition}:{stream_time // SUMMARY_MS}", 1)
        self.context.forward(record.with_value(total))

    def _summarise(self, timestamp: int) -> None:
        """Forward each stretch that has ended, once, and forget it."""
        current = (self._store.get(f"!time:{self._partition}") or 0) // SUMMARY_MS
        prefix = f"!stretch:{self._partition}:"
        # ";" follows ":" in the order of bytes, so this is every key with the prefix.
        with self._store.range(prefix, prefix[:-1] + ";") as entries:
            found = list(entries)
        for key, count in found:
            stretch = int(key.removeprefix(prefix))
            if stretch < current:
                summary = f"{self._partition}@{stretch}"
                self.context.forward(ps.Record(summary, count, timestamp))
                self._store.delete(key)

    def _tick(self, timestamp: int) -> None:
        """Write to the store at times that no test can foresee; nothing compares this entry."""
        self._add(f"!ticks:{self._partition}", 1)

    def _add(self, key: str, amount: int) -> int:
        total = int(self._store.get(key) or 0) + amount
        self._store.put(key, total)
        return total
