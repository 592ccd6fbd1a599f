"""The program behind ``StreamsNamedRepartitionTest``: sums behind a *named* repartition topic.

The changed version has two more steps in front of the repartition. Because topic and store have
names, it goes on with the state of the first version.
"""

from __future__ import annotations

import penstock as ps
from tests.verifiers.programs.optimized import key_of

APPLICATION = "StreamsNamedRepartitionTest"
INPUT, SUMS = "inputTopic", "aggregationTopic"
TOPICS = (INPUT, SUMS)


def build(*, adds_operators: bool = False) -> ps.Topology:
    """Build the first version, or the one with a filter and a mapping in front of the sums."""
    builder = ps.StreamsBuilder()
    stream = builder.stream(INPUT, key="string", value="string").select_key(
        lambda _, value: key_of(value)
    )
    if adds_operators:
        stream = stream.filter(lambda _, value: True).map_values(lambda value: str(int(value) + 1))
    grouped = ps.Grouped(name="grouped-stream", key="string", value="string")
    stream.group_by_key(grouped).aggregate(
        lambda: 0,
        lambda _, value, sum_: sum_ + int(value),
        ps.Materialized(name="count-store", key="string", value="integer"),
    ).to_stream().to(SUMS, key="string", value="integer")
    return builder.build()


def build_changed() -> ps.Topology:
    return build(adds_operators=True)
