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
    joined.to_stream().to("out", key="string", value="json")
    joined.filter(ps.col("s") == "a").to_stream().to("other", value="json")


def tables_left_joined(builder: ps.StreamsBuilder) -> None:
    """The result has a store, and a joiner that finds nothing to return."""
    left = builder.table("in", materialized="left", key="string", value="json")
    right = builder.table("table", materialized="right", key="string", value="json")
    joined = left.left_join(
        right,
        lambda key, one, other: None if one.get("n") == 4 else [key, one, other],
        materialized=ps.Materialized(name="both", key="string", value="json"),
    )
    joined.to_stream().to("out", key="string", value="json")


def tables_outer_joined(builder: ps.StreamsBuilder) -> None:
    """Sides that are computed from tables with stores; the right one is repeated in groups."""
    left = builder.table("in", materialized="left", key="string", value="json")
    right = builder.table("table", materialized="right", key="string", value="json")
    named = right.filter(ps.col("s").is_not_null()).map_values(lambda key, value: value["s"])
    joined = left.outer_join(named, lambda one, other: f"{one and one.get('n')}{other}")
    joined.to_stream().to("out", key="string", value="string")
    joined.group_by(lambda key, text: (text[:1], text), key="string", value="string").count(
        "counts"
    ).to_stream().to("other", key="string", value="long")


def tables_joined_in_a_row(builder: ps.StreamsBuilder) -> None:
    """A join of a join without a store, with a table of counts."""
    left = builder.table("in", materialized="left", key="string", value="json")
    right = builder.table("table", materialized="right", key="string", value="json")
    counted = builder.stream("other", key="string", value="json").group_by_key().count("counts")
    both = left.outer_join(right, lambda one, other: [one and one.get("n"), bool(other)])
    every = both.left_join(counted, lambda some, n: [*some, n])
    every.to_stream().to("out", key="string", value="json")


def counts_joined(builder: ps.StreamsBuilder) -> None:
    """Two aggregations with caches of their own."""
    left = builder.stream("in", key="string", value="json").group_by_key().count("one")
    kept = ps.Materialized(name="two", value="json")
    right = builder.stream("table", key="string", value="json").group_by_key()
    most = right.reduce(lambda one, other: other if other.get("n") else one, kept)
    joined = left.left_join(most, lambda n, row: {"n": n, "s": row and row.get("s")})
    joined.to_stream().to("out", key="string", value="json")


def foreign_joined(builder: ps.StreamsBuilder) -> None:
    """Rows that move between foreign keys, and rows that have none."""
    left = builder.table("in", materialized="left", key="string", value="json")
    right = builder.table("table", materialized="right", key="string", value="json")
    joined = left.join(
        right,
        lambda one, other: [one.get("n"), other.get("s")],
        foreign_key=lambda row: f"k{row['n']}"[:2] if row.get("n") else None,
    )
    joined.to_stream().to("out", key="string", value="json")


def foreign_left_joined(builder: ps.StreamsBuilder) -> None:
    """Sides that are computed, keys of another type than text, and a result that is kept."""
    rows = builder.table("in", materialized="left", key="string", value="json")
    left = rows.filter(lambda key, row: row.get("s") != "cb").map_values(
        lambda key, row: {
            "at": f"k{row.get('n')}"[:2] if row.get("n") else None,
            "s": row.get("s"),
        },
        value="json",
    )
    right = builder.table("table", materialized="right", key="string", value="json")
    short = right.map_values(lambda key, row: f"{row.get('s')}", value="string")
    joined = left.left_join(
        short,
        lambda key, one, other: {"key": key, "one": one["s"], "other": other},
        foreign_key=lambda key, row: row["at"] and row["at"].lower(),
        materialized=ps.Materialized(name="both", value="json"),
    )
    joined.to_stream().to("out", key="string", value="json")
    joined.group_by(lambda key, row: (row["other"] or "", key), key="string", value="string").count(
        "counts"
    ).to_stream().to("other", key="string", value="long")


def foreign_counts_joined(builder: ps.StreamsBuilder) -> None:
    """A count on the right, whose every change is answered, and keys that are objects."""
    stream = builder.stream("in", key="string", value="json")
    left = stream.map(lambda key, row: ({"k": key}, row and row.get("s"))).to_table(
        "left", key="json", value="json"
    )
    counted = builder.stream("table", key="string", value="json").group_by_key().count("counts")
    joined = left.join(
        counted, lambda text, n: f"{text}{n}", foreign_key=lambda key, text: key["k"]
    )
    joined.to_stream().to("out", key="json", value="string")


def foreign_self_joined(builder: ps.StreamsBuilder) -> None:
    """Both sides are one table: what it sends to itself comes back in stages of their own."""
    rows = builder.table("in", materialized="rows", key="string", value="json")
    joined = rows.left_join(
        rows,
        lambda one, other: [one.get("s"), other and other.get("n")],
        foreign_key=lambda row: f"k{row['n']}"[:2] if row.get("n") else None,
    )
    joined.to_stream().to("out", key="string", value="json")


#: Programs of this module.
TABLE_BUILDS = [
    foreign_self_joined,
    foreign_joined, foreign_left_joined, foreign_counts_joined,
    tables_joined, tables_left_joined, tables_outer_joined, tables_joined_in_a_row, counts_joined,
]  # fmt: skip
