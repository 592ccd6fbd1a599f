"""The application of the soak test, as a process of its own: windows, a table and a count."""

from __future__ import annotations

import logging
import sys

import penstock as ps

EVENTS, USERS, TOTALS, COUNTS = "events", "users", "totals", "counts"
WINDOW_MS, GRACE_MS = 60_000, 30_000


def build() -> ps.Topology:
    """Counts per user, joined with a table, and sums per country and minute."""
    builder = ps.StreamsBuilder()
    users = builder.table(USERS, key="string", value="json")
    events = builder.stream(EVENTS, key="string", value="json")
    events.group_by_key().count("per-user").to_stream().to(COUNTS)
    (
        events.join(users, lambda event, user: {**event, "country": user["country"]})
        .group_by(
            lambda _, event: event["country"],
            ps.Grouped(key="string", value="json"),
        )
        .windowed_by(ps.TimeWindows.of_size_and_grace(WINDOW_MS, GRACE_MS))
        .aggregate(
            lambda: 0,
            lambda _, event, total: total + event["amount"],
            ps.Materialized(name="per-country", key="string", value="long"),
        )
        .to_stream(lambda windowed, _: f"{windowed.key}@{windowed.start}")
        .to(TOTALS, key="string", value="long")
    )
    (
        events.group_by_key()
        .windowed_by(ps.TimeWindows.of_size_and_grace(WINDOW_MS, GRACE_MS))
        .count("per-user-and-minute")
    )
    return builder.build()


def main(bootstrap: str, state_dir: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    ps.KafkaStreams(
        build(),
        {
            "application.id": "soak",
            "bootstrap.servers": bootstrap,
            "state.dir": state_dir,
            "processing.guarantee": "exactly_once_v2",
            "num.stream.threads": 2,
            "spark.ui.enabled": "false",
        },
    ).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
