"""Keeps some rows of a table. As data: ``penstock.topology.nodes.tables.table_filter``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.returns import check_function
from penstock.dsl.operators.tables.table_derivation import derive
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.table import Table
from penstock.topology.nodes import TableFilter

_PREFIX = "KTABLE-FILTER-"


def filter_table(
    table: Table,
    predicate: Callable[[Any, Any], bool],
    options: Materialized[Any, Any] | None,
    name: str | None,
    *,
    negate: bool,
) -> Table:
    """Add a filter; the rows keep their serdes."""
    operator = "filter_not" if negate else "filter"
    check_function(operator, "predicate", predicate, "key", "value")
    check_fields(operator, predicate, table.key_serde, table.value_serde)
    filtered = derive(
        table,
        partial(TableFilter, predicate=predicate, negate=negate),
        options,
        name,
        prefix=_PREFIX,
        keeps_values=True,
        follows_versions=True,
    )
    # If the table above has a store, old values cost nothing. They save tombstones for rows that
    # were filtered out before.
    filtered.state.sends_old = table.state.send_old_values(force=False)
    return filtered
