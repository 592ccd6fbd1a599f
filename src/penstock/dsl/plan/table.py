"""A table inside the DSL, for operators. The class for users: ``dsl.faces.ktable``.

Later operators decide whether a table needs a store, and whether it must send old values. Both are
in a ``TableState``, which they change. Nodes are made after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.dsl.plan.logical import LogicalGraph, LogicalNode, PlannedStore
from penstock.serde.base import Serde
from penstock.state.spec import StoreKind


class TableState:
    """What later operators can demand of a table. ``store`` is created if ``is_materialized``."""

    def __init__(self, store: PlannedStore | None, *, is_materialized: bool) -> None:
        self.store = store
        self.is_materialized = is_materialized
        self.sends_old = False

    @property
    def store_name(self) -> str | None:
        """Return the name of the store with the rows, if there is one so far."""
        return self.store.name if self.store is not None and self.is_materialized else None

    @property
    def is_versioned(self) -> bool:
        """Return whether the rows are kept in a versioned store."""
        is_stored = self.store is not None and self.is_materialized
        return is_stored and self.store.spec.kind is StoreKind.VERSIONED_KEY_VALUE  # type: ignore[union-attr]

    def send_old_values(self, *, force: bool) -> bool:
        """Make the table send the old value of each change, if it can do so.

        With ``force``, a table without a store gets one. Returns whether old values are sent.
        """
        raise NotImplementedError

    def reading_stores(self) -> tuple[str, ...]:
        """Return the stores that a lookup of rows needs. Sources may get a store for it."""
        raise NotImplementedError


class SourceTable(TableState):
    """A table that is read from a topic or made of a stream. It has a store if one is needed."""

    def send_old_values(self, *, force: bool) -> bool:
        if not force and not self.is_materialized:
            return False
        self.is_materialized = True
        self.sends_old = True
        return True

    def reading_stores(self) -> tuple[str, ...]:
        assert self.store is not None
        self.is_materialized = True
        return (self.store.name,)


class AggregatedTable(TableState):
    """The result of an aggregation, which always has a store.

    ``arms`` are the aggregations of a cogroup that share the store; the merged table sends old
    values when they do.
    """

    def __init__(self, store: PlannedStore, arms: tuple[AggregatedTable, ...] = ()) -> None:
        super().__init__(store, is_materialized=True)
        self._arms = arms

    def send_old_values(self, *, force: bool) -> bool:
        self.sends_old = True
        for arm in self._arms:
            arm.send_old_values(force=force)
        return True

    def reading_stores(self) -> tuple[str, ...]:
        assert self.store is not None
        return (self.store.name,)


class DerivedTable(TableState):
    """A table computed row by row from another one: filter, map_values, transform_values."""

    def __init__(self, store: PlannedStore | None, parent: Table) -> None:
        super().__init__(store, is_materialized=store is not None)
        self.parent = parent

    def send_old_values(self, *, force: bool) -> bool:
        if self.is_materialized or self.parent.state.send_old_values(force=force):
            self.sends_old = True
        return self.sends_old

    def reading_stores(self) -> tuple[str, ...]:
        if self.store_name is not None:
            return (self.store_name,)
        return self.parent.state.reading_stores()


@dataclass(slots=True, eq=False)
class Table:
    """The output of ``node``, with the serdes known so far.

    ``queryable_store_name`` is the store's name if the user gave one. ``sources`` are the source
    nodes of its sub-topology, for co-partitioning.
    """

    name: str
    node: LogicalNode
    graph: LogicalGraph
    sources: frozenset[str]
    state: TableState
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    queryable_store_name: str | None = None

    @property
    def output_versioned(self) -> bool | None:
        """Return whether the table is versioned; None means that it is if its parents are."""
        return self.node.output_versioned


@dataclass(frozen=True, slots=True)
class GlobalTable:
    """A table that every task has completely, in the store ``store_name``."""

    graph: LogicalGraph
    store_name: str
    queryable_store_name: str | None
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
