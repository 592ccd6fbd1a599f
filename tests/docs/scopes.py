"""What the code blocks of a page may take for granted: names in Python, sources in SQL.

Reference pages show a line or two. The streams and tables in these lines are made here, so that the
blocks run as they stand.
"""

from __future__ import annotations

import logging
import os
import re
from typing import Any

import penstock
import penstock.testing


def python_scope(page: str) -> dict[str, Any]:
    """Return the names that the blocks of a page begin with."""
    # Dataclasses look for the module that they are in.
    scope: dict[str, Any] = {"__name__": __name__}
    if page.startswith("reference/"):
        scope |= _everything()
    if page == "reference/operators/foreign_key_join.md":
        scope["orders"] = scope["builder"].table("orders-table", value=dict)
    return scope


def _everything() -> dict[str, Any]:
    builder = penstock.StreamsBuilder()
    names: dict[str, Any] = {name: getattr(penstock, name) for name in penstock.__all__}
    names |= {name: getattr(penstock.testing, name) for name in penstock.testing.__all__}
    names |= {"re": re, "os": os, "log": logging.getLogger("page"), "builder": builder}
    for name in ("orders", "payments", "clicks", "lines", "returns", "alarms", "logs"):
        names[name] = builder.stream(f"{name}-in", key=str, value=dict)
    for name in ("users", "addresses", "balances"):
        names[name] = builder.table(f"{name}-in", key=str, value=dict)
    names["products"] = builder.global_table("products-in", value=dict)
    windows = penstock.TimeWindows.of_size_with_no_grace("1m")
    names["counts"] = names["clicks"].group_by_key().windowed_by(windows).count("counts")
    names["totals"] = names["payments"].group_by_key().count("totals")
    names["enriched"] = names["orders"]
    names["topology"] = _words()
    names["Score"] = penstock.ValueTransformer
    names["build"] = _words
    return names


def _words() -> penstock.Topology:
    builder = penstock.StreamsBuilder()
    payments = builder.stream("payments", key=str, value="json")
    payments.filter(penstock.col("amount") > 50).to("large", value="json")
    lines = builder.stream("text-input").flat_map_values(str.split)
    counts = lines.group_by(lambda _, word: word).count("counts")
    counts.to_stream().to("wordcount-output")
    return builder.build()


#: Sources that the statements of reference pages read, by name.
_SOURCES = {
    "clicks": "STREAM clicks (usr VARCHAR KEY, page VARCHAR)",
    "people": "TABLE people (id INT PRIMARY KEY, name VARCHAR, town VARCHAR)",
    "named_people": "TABLE people (name VARCHAR PRIMARY KEY, town VARCHAR)",
    "vips": "TABLE vips (id VARCHAR PRIMARY KEY, town VARCHAR)",
    "orders": "STREAM orders (id INT KEY, buyer VARCHAR, town VARCHAR, amount DOUBLE)",
    "shop_orders": "STREAM orders (id INT KEY, shop VARCHAR, item VARCHAR, n INT)",
    "prices": "TABLE prices (shop VARCHAR PRIMARY KEY, item VARCHAR PRIMARY KEY, price INT)",
    "staff": "TABLE staff (id INT PRIMARY KEY, name VARCHAR, boss INT)",
    "payments": "STREAM payments (id INT KEY, amount DOUBLE, paid_at TIMESTAMP)",
    "eu_payments": "STREAM eu_payments (id INT KEY, amount DOUBLE)",
    "us_payments": "STREAM us_payments (id INT KEY, amount DOUBLE)",
    "readings": "STREAM readings (device VARCHAR KEY, level INT)",
    "accounts": "TABLE accounts (id INT PRIMARY KEY, amount DOUBLE)",
    "country_orders": "STREAM orders (id VARCHAR KEY, country VARCHAR, amount DOUBLE)",
    "copies": "STREAM copies (id VARCHAR KEY, country VARCHAR, amount DOUBLE)",
    "users_by_id": "TABLE users (id VARCHAR PRIMARY KEY, name VARCHAR)",
    "users": "TABLE users (usr VARCHAR PRIMARY KEY, name VARCHAR)",
}

#: Which of them a page begins with.
_PAGES = {
    "reference/processing-log.md": "orders",
    "reference/sql/changes.md": "people",
    "reference/sql/distinct.md": "clicks people",
    "reference/sql/in-and-exists.md": "clicks vips orders named_people",
    "reference/sql/insert.md": "clicks",
    "reference/sql/moments.md": "payments",
    "reference/sql/over.md": "readings orders",
    "reference/sql/pull-queries.md": "users_by_id",
    "reference/sql/push-queries.md": "orders",
    "reference/sql/select.md": "clicks accounts",
    "reference/sql/statements.md": "country_orders copies users",
    "reference/sql/union.md": "eu_payments us_payments",
}


def sql_sources(page: str) -> str:
    """Return the statements that make the sources of a page."""
    return "".join(_create(_SOURCES[name]) for name in _PAGES.get(page, "").split())


def _create(source: str) -> str:
    topic = source.split()[1]
    formats = "FORMAT='JSON', PARTITIONS=2"
    return f"CREATE {source} WITH (KAFKA_TOPIC='{topic}', {formats});\n"
