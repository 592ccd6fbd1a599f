"""``to_lake``: appends records to a table of a lakehouse. Node: ``nodes.topics.to_lake``."""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.dsl.operators.topics.to_spark import row_options
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.errors import InvalidArgumentError
from penstock.model.lake_table import lake_table
from penstock.model.site import caller_site
from penstock.topology.nodes.topics.to_lake import ToLake


def stream_to_lake(stream: Stream, table: str, schema: Any, name: str | None) -> None:
    """Add the node. Its value type is the given schema, or follows from the stream's serde."""
    found = lake_table(table, caller_site())
    name = stream.graph.names.given_or_new(name, "KSTREAM-LAKE-")
    rows_to_lake(stream, str(found), name, **row_options(stream, schema))


def table_to_lake(stream: Stream, table: str, schema: Any, name: str | None, mode: str) -> None:
    """Add the node for the changes of a table, or for its present rows."""
    if mode not in ("changes", "present"):
        raise InvalidArgumentError(
            "bad-lake-mode",
            f"a table is written as its 'changes' or as its 'present' rows, not as {mode!r}",
            fix="write mode='changes' or mode='present'",
            at=caller_site(),
        )
    if mode == "changes":
        stream_to_lake(stream, table, schema, name)
        return
    found = lake_table(table, caller_site())
    name = stream.graph.names.given_or_new(name, "KSTREAM-LAKE-")
    options = row_options(stream, schema)
    check_present_key(options["key_type"])
    rows_to_lake(stream, str(found), name, has_present_rows=True, **options)


def check_present_key(key_type: str | None) -> None:
    """Refuse a key of which libraries cannot tell whether two rows have the same."""
    if key_type is not None and "<" in key_type:
        raise InvalidArgumentError(
            "bad-lake-mode",
            f"present rows are found by a key that is one value, not {key_type}",
            fix="write the changes, with mode='changes', or give the table a key of one value",
            at=caller_site(),
        )


def rows_to_lake(stream: Stream, table: str, name: str, **options: Any) -> None:
    """Add the node for rows whose types are known; ``options`` are fields of ``ToLake``."""
    stream.then(Operator(name, partial(ToLake, topic=table, **options)))
