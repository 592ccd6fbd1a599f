"""Delays changes of a table. As data: ``penstock.topology.nodes.tables.suppress``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from penstock.dsl.options.suppressed import Suppressed
from penstock.dsl.plan.logical import LogicalNode, Operator, PlannedStore
from penstock.dsl.plan.table import Table, TableState
from penstock.errors import TopologyError
from penstock.model.site import caller_site
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import Suppress

if TYPE_CHECKING:
    from penstock.dsl.plan.lowering import Lowering

_PREFIX = "KTABLE-SUPPRESS-"


class SuppressedTable(TableState):
    """A table after a suppression. It sends old values if its parent does."""

    def __init__(self, buffer: str, parent: Table) -> None:
        super().__init__(None, is_materialized=False)
        self._buffer = buffer
        self._parent = parent

    def send_old_values(self, *, force: bool) -> bool:
        self.sends_old = self._parent.state.send_old_values(force=force)
        return self.sends_old

    def reading_stores(self) -> tuple[str, ...]:
        return (self._buffer, *self._parent.state.reading_stores())


class SuppressOperator(Operator):
    """The operator. It refuses a versioned table, as Kafka Streams does."""

    def lower(self, to: Lowering) -> None:
        if self.versioned_parents:
            raise _versioned(self.parent_names[0], self.site)
        super().lower(to)


def suppress_table(table: Table, options: Suppressed) -> Table:
    """Add a suppression with a buffer of its own, always in memory."""
    if table.output_versioned:
        raise _versioned(table.name, caller_site())
    graph = table.graph
    name = options.name or graph.names.new_processor_name(_PREFIX)
    wait_ms = options.time_limit_ms
    if wait_ms is None:
        wait_ms = window_grace(table.node)
    buffer = _buffer(table, options)
    node = SuppressOperator(
        name,
        partial(
            Suppress,
            buffer=buffer.name,
            wait_ms=wait_ms,
            until_window_closes=options.until_window_closes_only,
            max_records=options.buffer.limit_records,
            max_bytes=options.buffer.limit_bytes,
            emits_early=options.buffer.emits_early,
            # Only a final result is certain to be the first one of its key and window.
            safe_to_drop_tombstones=options.until_window_closes_only,
        ),
        table=SuppressedTable(buffer.name, table),
        adds=[PlannedStore(buffer)],
        follows_versions=True,
        output_versioned=False,
    )
    # A lookup of rows after the suppression must return the rows without delayed changes.
    table.state.send_old_values(force=True)
    graph.add(node, table.node)
    assert node.table is not None
    return Table(
        name=name,
        node=node,
        graph=graph,
        sources=frozenset([table.name]),
        state=node.table,
        key_serde=table.key_serde,
        value_serde=table.value_serde,
    )


def _buffer(table: Table, options: Suppressed) -> StoreSpec:
    graph, config = table.graph, options.buffer
    if options.name is not None:
        name = f"{options.name}-store"
    else:
        name = graph.names.new_store_name(_PREFIX)
        if config.logging:
            graph.note_generated(changelog_topic=f"{name}-changelog")
    spec = StoreSpec(
        name=name,
        kind=StoreKind.TIME_ORDERED_BUFFER,
        persistent=False,
        key_serde=table.key_serde,
        value_serde=table.value_serde,
    )
    if config.logging:
        return spec.with_logging_enabled(config.changelog_config)
    return spec.with_logging_disabled()


def window_grace(node: LogicalNode, chain: str = "") -> int:
    """Return the longest grace period of the windows above the node.

    Raises:
        TopologyError: if a path to the node has no windows.
    """
    if node.grace_ms is not None:
        return node.grace_ms
    chain = f"{node.name}->{chain}" if chain else node.name
    if not node.parents:
        raise TopologyError(
            "suppress-without-windows",
            f"a window close time is only defined for windowed computations, got [{chain}]",
            fix="use Suppressed.until_time_limit(…), or suppress a windowed aggregation",
            at=caller_site(),
        )
    return max(window_grace(parent, chain) for parent in node.parents)


def _versioned(table: str, at: str | None) -> TopologyError:
    return TopologyError(
        "suppress-versioned-table",
        f"table {table!r} is versioned, and suppress works on tables that are not",
        fix="suppress before the versioned store, or materialize in a key-value store",
        at=at,
    )
