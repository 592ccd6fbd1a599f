"""The program behind ``StreamsEosTest``: every input record has its own result of each kind."""

from __future__ import annotations

import penstock as ps

APPLICATION = "EosTest"
TOPICS = ("data", "echo", "min", "sum", "repartition", "max", "cnt")


def build(*, is_complex: bool = False) -> ps.Topology:
    """Build the simple topology, or the one that goes on behind a topic of its own."""
    builder = ps.StreamsBuilder()
    data = builder.stream("data", key="string", value="integer")
    data.to("echo", key_serde="string", value_serde="integer")
    grouped = data.group_by_key()
    grouped.aggregate(
        lambda: 2**31 - 1,
        lambda _, value, lowest: min(value, lowest),
        ps.Materialized(value_serde="integer"),
    ).to_stream().to("min", key_serde="string", value_serde="integer")
    grouped.aggregate(
        lambda: 0, lambda _, value, sum_: value + sum_, ps.Materialized(value_serde="long")
    ).to_stream().to("sum", key_serde="string", value_serde="long")
    if is_complex:
        data.to("repartition", key_serde="string", value_serde="integer")
        again = builder.stream("repartition", key="string", value="integer").group_by_key()
        again.aggregate(
            lambda: -(2**31),
            lambda _, value, highest: max(value, highest),
            ps.Materialized(value_serde="integer"),
        ).to_stream().to("max", key_serde="string", value_serde="integer")
        again.count().to_stream().to("cnt", key_serde="string", value_serde="long")
    return builder.build()


def build_complex() -> ps.Topology:
    return build(is_complex=True)
