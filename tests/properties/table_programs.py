"""Topologies of joined tables that run over columns."""

from __future__ import annotations

import penstock as ps

amount = ps.col("n")


def tables_joined(builder: ps.StreamsBuilder) -> None:
    """Two tables of topics, and old values of the result for what is behind."""
    left = builder.table("in", materialized="left", key="string", value="json")
    right = builder.table("table", materialized="right", key="string", value="json")
    both = ps.struct(n=ps.left["n"], other=ps.right["n"], s=ps.right["s"])
    joined = left.join(right, both)
    joined.to_stream().to("out", key_serde="string", value_serde="json")
    joined.filter(ps.col("s") == "a").to_stream().to("other", value_serde="json")


def tables_left_joined(builder: ps.StreamsBuilder) -> None:
    """The result has a store, and a joiner that finds nothing to return."""
    left = builder.table("in", materialized="left", key="string", value="json")
    right = builder.table("table", materialized="right", key="string", value="json")
    joined = left.left_join(
        right,
        lambda key, one, other: None if one.get("n") == 4 else [key, one, other],
        materialized=ps.Materialized(name="both", key_serde="string", value_serde="json"),
    )
    joined.to_stream().to("out", key_serde="string", value_serde="json")


def tables_outer_joined(builder: ps.StreamsBuilder) -> None:
    """Sides that are computed from tables with stores; the right one is repeated in groups."""
    left = builder.table("in", materialized="left", key="string", value="json")
    right = builder.table("table", materialized="right", key="string", value="json")
    named = right.filter(ps.col("s").is_not_null()).map_values(lambda key, value: value["s"])
    joined = left.outer_join(named, lambda one, other: f"{one and one.get('n')}{other}")
    joined.to_stream().to("out", key_serde="string", value_serde="string")
    joined.group_by(
        lambda key, text: (text[:1], text), key_serde="string", value_serde="string"
    ).count("counts").to_stream().to("other", key_serde="string", value_serde="long")


def tables_joined_in_a_row(builder: ps.StreamsBuilder) -> None:
    """A join of a join without a store, with a table of counts."""
    left = builder.table("in", materialized="left", key="string", value="json")
    right = builder.table("table", materialized="right", key="string", value="json")
    counted = builder.stream("other", key="string", value="json").group_by_key().count("counts")
    both = left.outer_join(right, lambda one, other: [one and one.get("n"), bool(other)])
    every = both.left_join(counted, lambda some, n: [*some, n])
    every.to_stream().to("out", key_serde="string", value_serde="json")


def counts_joined(builder: ps.StreamsBuilder) -> None:
    """Two aggregations with caches of their own."""
    left = builder.stream("in", key="string", value="json").group_by_key().count("one")
    kept = ps.Materialized(name="two", value_serde="json")
    right = builder.stream("table", key="string", value="json").group_by_key()
    most = right.reduce(lambda one, other: other if other.get("n") else one, kept)
    joined = left.left_join(most, lambda n, row: {"n": n, "s": row and row.get("s")})
    joined.to_stream().to("out", key_serde="string", value_serde="json")


#: Programs of this module.
TABLE_BUILDS = [
    tables_joined, tables_left_joined, tables_outer_joined, tables_joined_in_a_row, counts_joined,
]  # fmt: skip
