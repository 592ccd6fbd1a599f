"""The program behind ``StreamsEosTest``: every input record has its own result of each kind."""

from __future__ import annotations

import penstock as ps

APPLICATION = "EosTest"
TOPICS = ("data", "echo", "min", "sum", "repartition", "max", "cnt")


def build(*, is_complex: bool = False) -> ps.Topology:
    """Build the simple topology, or the one that goes on behind a topic of its own."""
    builder = ps.StreamsBuilder()
    data = builder.stream("data", key="string", value="integer")
    data.to("echo", key="string", value="integer")
    grouped = data.group_by_key()
    grouped.aggregate(
        lambda: 2**31 - 1,
        lambda _, value, lowest: min(value, lowest),
        ps.Materialized(value="integer"),
    ).to_stream().to("min", key="string", value="integer")
    grouped.aggregate(
        lambda: 0, lambda _, value, sum_: value + sum_, ps.Materialized(value="long")
    ).to_stream().to("sum", key="string", value="long")
    if is_complex:
        data.to("repartition", key="string", value="integer")
        again = builder.stream("repartition", key="string", value="integer").group_by_key()
        again.aggregate(
            lambda: -(2**31),
            lambda _, value, highest: max(value, highest),
            ps.Materialized(value="integer"),
        ).to_stream().to("max", key="string", value="integer")
        again.count().to_stream().to("cnt", key="string", value="long")
    return builder.build()


def build_complex() -> ps.Topology:
    return build(is_complex=True)
