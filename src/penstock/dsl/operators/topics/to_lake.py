"""``to_lake``: appends records to a table of a lakehouse. Node: ``nodes.topics.to_lake``."""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.dsl.operators.topics.to_spark import row_options
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.model.lake_table import lake_table
from penstock.model.site import caller_site
from penstock.topology.nodes.topics.to_lake import ToLake


def stream_to_lake(stream: Stream, table: str, schema: Any, name: str | None) -> None:
    """Add the node. Its value type is the given schema, or follows from the stream's serde."""
    found = lake_table(table, caller_site())
    name = stream.graph.names.given_or_new(name, "KSTREAM-LAKE-")
    rows_to_lake(stream, str(found), name, **row_options(stream, schema))


def rows_to_lake(stream: Stream, table: str, name: str, **options: Any) -> None:
    """Add the node for rows whose types are known; ``options`` are fields of ``ToLake``."""
    stream.then(Operator(name, partial(ToLake, topic=table, **options)))
