"""What ``test_backfill`` runs: windows that close once, and sums behind a repartition topic."""

from __future__ import annotations

import os

import penstock as ps

SOURCE, FINALS, TOTALS = "numbers", "finals", "totals"


def build() -> ps.Topology:
    builder = ps.StreamsBuilder()
    numbers = builder.stream(SOURCE, key=str, value=int)
    windows = ps.TimeWindows.of_size_and_grace("10s", "5s")
    closed = ps.Suppressed.until_window_closes(ps.BufferConfig.unbounded())
    counted = numbers.group_by_key().windowed_by(windows).count("per-window")
    counted.suppress(closed).to_stream(lambda key, _: str(key)).to(FINALS, key=str, value=int)
    grouped = numbers.group_by(lambda _, value: f"g{value % 3}", key=str, value=int)
    grouped.reduce(lambda one, other: one + other, "sums").to_stream().to(
        TOTALS, key=str, value=int
    )
    return builder.build()


config = {
    "application.id": "shop",
    "bootstrap.servers": os.environ.get("SHOP_SERVERS", "localhost:9092"),
    "state.dir": os.environ.get("SHOP_STATE", "/tmp/shop"),
    "processing.guarantee": "exactly_once_v2",
    "commit.interval.ms": 50,
    "statestore.cache.max.bytes": 0,
    "num.stream.threads": 2,
    "spark.ui.enabled": "false",
}
topology = build()
