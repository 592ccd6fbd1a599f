"""What the code blocks of a page may take for granted: names in Python, sources in SQL.

Reference pages show a line or two. The streams and tables in these lines are made here, so that the
blocks run as they stand.
"""

from __future__ import annotations

import logging
import os
import re
from collections import defaultdict
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import penstock
import penstock.testing


def python_scope(page: str) -> dict[str, Any]:
    """Return the names that the blocks of a page begin with."""
    # Dataclasses look for the module that they are in.
    scope: dict[str, Any] = {"__name__": __name__}
    if page.startswith("reference/") or page == "how-to/index.md":
        scope |= _everything()
    return scope


def _everything() -> dict[str, Any]:
    builder = penstock.StreamsBuilder()
    names: dict[str, Any] = {name: getattr(penstock, name) for name in penstock.__all__}
    names |= {name: getattr(penstock.testing, name) for name in penstock.testing.__all__}
    names |= {"re": re, "os": os, "log": logging.getLogger("page"), "builder": builder}
    for name in ("orders", "payments", "clicks", "lines", "returns", "alarms", "logs"):
        names[name] = builder.stream(f"{name}-in", key=str, value=dict)
    for name in ("users", "addresses", "balances"):
        names[name] = builder.table(f"{name}-in", key_serde=str, value_serde=dict)
    names["products"] = builder.global_table("products-in", value_serde=dict)
    windows = penstock.TimeWindows.of_size_with_no_grace("1m")
    names["counts"] = names["clicks"].group_by_key().windowed_by(windows).count("counts")
    names["totals"] = names["payments"].group_by_key().count("totals")
    names["enriched"] = names["orders"]
    names["topology"] = _words()
    names["build"] = _words
    names["tracer"] = SimpleNamespace(start_as_current_span=lambda _: nullcontext())
    return names


def _words() -> penstock.Topology:
    builder = penstock.StreamsBuilder()
    payments = builder.stream("payments", key=str, value="json")
    payments.filter(penstock.col("amount") > 50).to("large", value_serde="json")
    lines = builder.stream("text-input").flat_map_values(str.split)
    counts = lines.group_by(lambda _, word: word).count("counts")
    counts.to_stream().to("wordcount-output")
    return builder.build()


_SHOP = """
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR, ms INT)
    WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
"""

#: Statements that a page's blocks follow.
SQL: dict[str, str] = defaultdict(str)
