"""The five workloads of the peers' bench; they do the same work as its Java and Quix programs.

w1 filter and map JSON, w2 count per key, w3 sum per key and minute, w4 stream-table join,
w5 word count with a repartition. Two more have no peer: w6 stream-stream join, w7 sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import penstock as ps
from bench.sql_workloads import build_sql


@dataclass(frozen=True, slots=True)
class Topics:
    input: str
    output: str
    table: str = "bench-users"


def slim(event: dict[str, Any]) -> dict[str, Any]:
    amount = event["amount"]
    band = "high" if amount > 75 else "mid"
    return {"user": event["user"], "amount": amount, "band": band, "ts": event["ts"]}


def w1(builder: ps.StreamsBuilder, topics: Topics) -> None:
    (
        builder.stream(topics.input, key="string", value="json")
        .filter(lambda _, event: event["amount"] > 50)
        .map_values(slim)
        .to(topics.output, key="string", value="json")
    )


def w2(builder: ps.StreamsBuilder, topics: Topics) -> None:
    (
        builder.stream(topics.input, key="string", value="bytes")
        .group_by_key()
        .count("counts")
        .to_stream()
        .map_values(str)
        .to(topics.output, key="string", value="string")
    )


def w3(builder: ps.StreamsBuilder, topics: Topics) -> None:
    (
        builder.stream(topics.input, key="string", value="json")
        .group_by_key()
        .windowed_by(ps.TimeWindows.of_size_and_grace("1m", "30s"))
        .aggregate(
            lambda: 0.0,
            lambda _, event, total: total + event["amount"],
            ps.Materialized(name="sums", key="string", value="double"),
        )
        .to_stream(lambda windowed, _: f"{windowed.key}@{windowed.start}")
        .map_values(str)
        .to(topics.output, key="string", value="string")
    )


def w4(builder: ps.StreamsBuilder, topics: Topics) -> None:
    users = builder.table(topics.table, materialized="users", key="string", value="json")
    (
        builder.stream(topics.input, key="string", value="json")
        .join(users, lambda event, user: {**event, "name": user["name"], "tier": user["tier"]})
        .to(topics.output, key="string", value="json")
    )


def w5(builder: ps.StreamsBuilder, topics: Topics) -> None:
    (
        builder.stream(topics.input, key="string", value="string")
        .flat_map_values(lambda line: line.split(" "))
        .group_by(
            lambda _, word: word,
            ps.Grouped(name="word", key="string", value="string"),
        )
        .count("wc")
        .to_stream()
        .map_values(str)
        .to(topics.output, key="string", value="string")
    )


def w6(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """Join each event with the same user's events of the other topic within ten seconds."""
    others = builder.stream(topics.table, key="string", value="json")
    (
        builder.stream(topics.input, key="string", value="json")
        .join(
            others,
            lambda event, other: {"user": event["user"], "both": event["amount"] + other["amount"]},
            ps.JoinWindows.of_time_difference_and_grace("10s", "5s"),
            value="json",
            other_value="json",
        )
        .to(topics.output, key="string", value="json")
    )


def w7(builder: ps.StreamsBuilder, topics: Topics) -> None:
    """Count the events of each session: a user's events with less than ten seconds between."""
    (
        builder.stream(topics.input, key="string", value="bytes")
        .group_by_key()
        .windowed_by(ps.SessionWindows.of_inactivity_gap_and_grace("10s", "5s"))
        .count("sessions")
        .to_stream(lambda windowed, _: f"{windowed.key}@{windowed.start}")
        .map_values(str)
        .to(topics.output, key="string", value="string")
    )


def w1_columns(builder: ps.StreamsBuilder, topics: Topics) -> None:
    amount = ps.col("amount")
    band = ps.when(amount > 75).then("high").otherwise("mid")
    (
        builder.stream(topics.input, key="string", value="json")
        .filter(amount > 50)
        .map_values(ps.struct(user=ps.col("user"), amount=amount, band=band, ts=ps.col("ts")))
        .to(topics.output, key="string", value="json")
    )


def w3_columns(builder: ps.StreamsBuilder, topics: Topics) -> None:
    (
        builder.stream(topics.input, key="string", value="json")
        .group_by_key()
        .windowed_by(ps.TimeWindows.of_size_and_grace("1m", "30s"))
        .aggregate(
            ps.sum_(ps.col("amount")),
            materialized=ps.Materialized(name="sums", key="string", value="double"),
        )
        .to_stream(ps.key["key"] + "@" + ps.key["start"].cast(str))
        .map_values(str)
        .to(topics.output, key="string", value="string")
    )


def w4_columns(builder: ps.StreamsBuilder, topics: Topics) -> None:
    users = builder.table(topics.table, materialized="users", key="string", value="json")
    joined = ps.left.with_fields(name=ps.right["name"], tier=ps.right["tier"])
    (
        builder.stream(topics.input, key="string", value="json")
        .join(users, joined)
        .to(topics.output, key="string", value="json")
    )


def w5_columns(builder: ps.StreamsBuilder, topics: Topics) -> None:
    (
        builder.stream(topics.input, key="string", value="string")
        .flat_map_values(ps.value.split(" "))
        .group_by(ps.value, ps.Grouped(name="word", key="string", value="string"))
        .count("wc")
        .to_stream()
        .map_values(str)
        .to(topics.output, key="string", value="string")
    )


WORKLOADS: dict[str, Callable[[ps.StreamsBuilder, Topics], None]] = {
    "w1": w1, "w2": w2, "w3": w3, "w4": w4, "w5": w5, "w6": w6, "w7": w7,
}  # fmt: skip
#: The workloads that the peers have too.
SHARED = ("w1", "w2", "w3", "w4", "w5")


#: The same workloads with expressions. A count calls no user function, so w2 stays as it is.
EXPRESSIONS = WORKLOADS | {
    "w1": w1_columns, "w3": w3_columns, "w4": w4_columns, "w5": w5_columns,
}  # fmt: skip


def build(workload: str, topics: Topics, style: str = "expressions") -> ps.Topology:
    """Return a workload's topology, with ``expressions``, with ``lambda`` or in ``sql``."""
    if style == "sql":
        return build_sql(workload, input=topics.input, output=topics.output, table=topics.table)
    builder = ps.StreamsBuilder()
    (WORKLOADS if style == "lambda" else EXPRESSIONS)[workload](builder, topics)
    return builder.build()
