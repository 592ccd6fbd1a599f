"""What operators that compute a table row by row from another one share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.materialize import key_value_store, materialize
from penstock.dsl.plan.table import DerivedTable, Table
from penstock.serde.base import Serde
from penstock.serde.serdes import resolve_serde
from penstock.state.stores import VersionedBytesStoreSupplier
from penstock.topology.nodes import TableNode


def derive(
    table: Table,
    make: Callable[..., TableNode],
    options: Materialized[Any, Any] | None,
    name: str | None,
    *,
    prefix: str,
    skips_number: bool = True,
    keeps_values: bool = False,
    value_serde: Serde[Any] | None = None,
    **more: Any,
) -> Table:
    """Add an operator below the table; ``more`` goes to its ``Operator``.

    The result has a store only if the user names one. Serdes that are not given are those of the
    table: for keys always, for values if the operator does not change them. Otherwise it is
    ``value_serde``, which follows from the operator.
    """
    value_serde = table.value_serde if keeps_values else value_serde
    graph, store, queryable = table.graph, None, None
    if options is not None and options.store_name is not None:
        wanted = materialize(graph, options, prefix)
        store = key_value_store(wanted.with_serdes_or(table.key_serde, value_serde))
        queryable = store.name
    elif options is not None and skips_number:
        # Java takes this number for a store that is never created. Later names depend on it.
        graph.names.new_store_name(prefix)
    state = DerivedTable(store, table)
    node = Operator(graph.names.given_or_new(name, prefix), make, table=state, **more)
    if options is not None:
        node.output_versioned = isinstance(options.store, VersionedBytesStoreSupplier)
    graph.add(node, table.node)
    given = (None, None) if options is None else (options.key, options.value)
    return Table(
        name=node.name,
        node=node,
        graph=graph,
        sources=table.sources,
        state=state,
        key_serde=resolve_serde(given[0]) or table.key_serde,
        value_serde=resolve_serde(given[1]) or value_serde,
        queryable_store_name=queryable,
    )
