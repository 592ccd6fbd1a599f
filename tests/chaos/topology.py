"""The program of the chaos tests: a table join, a repartition and a windowed aggregation."""

from __future__ import annotations

import penstock as ps

PAYMENTS, USERS, ENRICHED, TOTALS = "payments", "users", "enriched", "totals"
MINUTE_MS = 60_000


def build() -> ps.Topology:
    """Every payment appears once in ``enriched`` and once in its merchant's minute."""
    builder = ps.StreamsBuilder()
    users = builder.table(USERS, key=str, value="json")
    payments = builder.stream(PAYMENTS, key=str, value="json")
    enriched = payments.join(users, lambda payment, user: {**payment, "country": user["country"]})
    enriched.to(ENRICHED, key="string", value="json")
    (
        enriched.select_key(lambda _, payment: payment["merchant"])
        .group_by_key(ps.Grouped(key="string", value="json"))
        .windowed_by(ps.TimeWindows.of_size_and_grace("1m", "1d"))
        .aggregate(
            lambda: {"sum": 0, "count": 0},
            lambda _, payment, total: {
                "sum": total["sum"] + payment["amount"],
                "count": total["count"] + 1,
            },
            ps.Materialized(name="totals-store", key="string", value="json"),
        )
        .to_stream()
        .map(lambda windowed, total: (f"{windowed.key}@{windowed.start}", total))
        .to(TOTALS, key="string", value="json")
    )
    return builder.build()
