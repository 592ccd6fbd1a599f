"""What the operators that compute a table row by row from another one have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.dsl.logical import Operator
from penstock.dsl.materialize import key_value_store, materialize
from penstock.dsl.materialized import Materialized
from penstock.dsl.table import DerivedTable, Table
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
    **more: Any,
) -> Table:
    """Adds an operator below the table; ``more`` goes to its ``Operator``.

    The result has a store only if the user names one. The store takes its serdes from the options
    alone; the result inherits the table's key serde, but no value serde.
    """
    graph, store, queryable = table.graph, None, None
    if options is not None and options.store_name is not None:
        store = key_value_store(materialize(graph, options, prefix))
        queryable = store.name
    elif options is not None and skips_number:
        # The number of a store that is never made: names of programs must not change for it.
        graph.names.new_store_name(prefix)
    state = DerivedTable(store, table)
    node = Operator(graph.names.given_or_new(name, prefix), make, table=state, **more)
    if options is not None:
        node.output_versioned = isinstance(options.store, VersionedBytesStoreSupplier)
    graph.add(node, table.node)
    key_serde, value_serde = (options.key_serde, options.value_serde) if options else (None, None)
    return Table(
        name=node.name,
        node=node,
        graph=graph,
        sources=table.sources,
        state=state,
        key_serde=resolve_serde(key_serde) or table.key_serde,
        value_serde=resolve_serde(value_serde),
        queryable_store_name=queryable,
    )
