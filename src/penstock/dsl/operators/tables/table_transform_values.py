"""Replaces the values of a table, with state. Node: ``nodes.tables.table_transform_values``."""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.dsl.operators.arity import check_arity
from penstock.dsl.operators.tables.table_derivation import derive
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.options.stream_options import not_none
from penstock.dsl.plan.table import Table
from penstock.topology.nodes import TableTransformValues


def transform_table_values(
    table: Table,
    supplier: Any,
    stores: tuple[str, ...],
    options: Materialized[Any, Any] | None,
    name: str | None,
) -> Table:
    """Add a transformation. The supplier creates one transformer per task."""
    check_arity("transform_values", "transformer_supplier", supplier)
    for store in stores:
        not_none(store, "transform_values: a state store's name")
    return derive(
        table,
        partial(TableTransformValues, supplier=supplier),
        options,
        name,
        prefix="KTABLE-TRANSFORMVALUES-",
        skips_number=False,
        connects=stores,
    )
