"""The program behind ``StreamsOptimizedTest``: four uses of one changed key.

Without optimization each use has a repartition topic of its own; with it they share one.
"""

from __future__ import annotations

import penstock as ps

APPLICATION = "StreamsOptimizedTest"
INPUT, LENGTHS, SUMS, JOINED = "inputTopic", "aggregationTopic", "reduceTopic", "joinTopic"
TOPICS = (INPUT, LENGTHS, SUMS, JOINED)


def build(optimization: str = "none") -> ps.Topology:
    """Build the topology with a value of ``topology.optimization``."""
    builder = ps.StreamsBuilder()
    mapped = builder.stream(INPUT, key="string", value="string").select_key(
        lambda _, value: key_of(value)
    )
    text = ps.Materialized(key="string", value="string")
    counts = mapped.group_by_key().count(ps.Materialized(key="string", value="long")).to_stream()
    mapped.group_by_key().aggregate(
        lambda: 0,
        lambda _, value, length: length + len(value),
        ps.Materialized(key="string", value="integer"),
    ).to_stream().to(LENGTHS, key="string", value="integer")
    sums = mapped.group_by_key().reduce(lambda one, other: str(int(one) + int(other)), text)
    sums.to_stream().to(SUMS, key="string", value="string")
    windows = ps.JoinWindows.of_time_difference_and_grace("500ms", "24h")
    serdes = ps.StreamJoined(key="string", value="string", other_value="long")
    mapped.join(counts, lambda value, count: f"{value}:{count}", windows, stream_joined=serdes).to(
        JOINED, key="string", value="string"
    )
    return builder.build({"topology.optimization": optimization})


def key_of(value: str) -> str:
    """Return the key under which a value is counted."""
    return str(int(value) % 9)
