"""Replaces the values of a table. Node: ``nodes.tables.table_map_values``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.dsl.operators.arity import number_of_arguments
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serde_of_result
from penstock.dsl.operators.tables.table_derivation import derive
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.table import Table
from penstock.topology.nodes import TableMapValues


def map_table_values(
    table: Table,
    fn: Callable[..., Any],
    options: Materialized[Any, Any] | None,
    name: str | None,
) -> Table:
    """Add a mapping of ``fn(value)`` or ``fn(key, value)``."""
    arguments = number_of_arguments("map_values", "mapper", fn, ("value",), ("key", "value"))
    check_fields("map_values", fn, table.key_serde, table.value_serde)
    make = partial(TableMapValues, fn=fn, with_key=arguments == 2)
    return derive(
        table, make, options, name, prefix="KTABLE-MAPVALUES-", value_serde=serde_of_result(fn)
    )
