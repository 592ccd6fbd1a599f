"""Joins two tables on their key. As data: ``penstock.topology.nodes.joins.table_join``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.dsl.operators.arity import number_of_arguments
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serde_of_result
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.logical import LogicalNode, PlannedStore
from penstock.dsl.plan.materialize import Materialization, key_value_store, materialize
from penstock.dsl.plan.stream import copartition
from penstock.dsl.plan.table import Table, TableState
from penstock.serde.base import Serde
from penstock.topology.nodes import JoinKind, TableJoin, TableJoinMerge

if TYPE_CHECKING:
    from penstock.dsl.plan.lowering import Lowering

_MERGE = "KTABLE-MERGE-"


class JoinedTable(TableState):
    """The result of a join. To send old values, both sides must have stores."""

    def __init__(self, store: PlannedStore | None, left: Table, right: Table) -> None:
        super().__init__(store, is_materialized=store is not None)
        self._sides = left, right

    def send_old_values(self, *, force: bool) -> bool:
        for side in self._sides:
            side.state.send_old_values(force=True)
        self.sends_old = True
        return True

    def reading_stores(self) -> tuple[str, ...]:
        if self.store_name is not None:
            return (self.store_name,)
        left, right = (side.state.reading_stores() for side in self._sides)
        return tuple(dict.fromkeys((*left, *right)))


@dataclass(frozen=True, slots=True)
class Arms:
    """What the two arms of a join share, and their names."""

    kind: JoinKind
    joiner: Callable[..., Any]
    with_key: bool
    left_name: str
    right_name: str


class TableJoinStep(LogicalNode):
    """Becomes the two arms of a join and the node that merges them, whose name it has."""

    follows_versions = True

    def __init__(
        self, name: str, arms: Arms, left: Table, right: Table, state: JoinedTable
    ) -> None:
        super().__init__(name)
        self.arms = arms
        self.state = state
        self.left = left
        self.right = right
        self.left_stores = left.state.reading_stores()
        self.right_stores = right.state.reading_stores()

    def lower(self, to: Lowering) -> None:
        graph, arms, state = to.graph, self.arms, self.state
        graph.add_node(self._arm(arms.left_name, self.left, self.right, is_left=True))
        graph.add_node(self._arm(arms.right_name, self.right, self.left, is_left=False))
        graph.add_node(
            TableJoinMerge(
                name=self.name,
                parents=(arms.left_name, arms.right_name),
                site=self.site,
                left_arm=arms.left_name,
                right_arm=arms.right_name,
                store=state.store_name,
                sends_old=state.sends_old,
            )
        )
        if state.store is not None:
            to.add_store(state.store, self.name)
        graph.connect_stores(arms.left_name, *self.right_stores)
        graph.connect_stores(arms.right_name, *self.left_stores)

    def _arm(self, name: str, this: Table, other: Table, *, is_left: bool) -> TableJoin:
        return TableJoin(
            name=name,
            parents=(this.name,),
            site=self.site,
            kind=self.arms.kind,
            is_left=is_left,
            this=this.name,
            other=other.name,
            joiner=self.arms.joiner,
            with_key=self.arms.with_key,
            sends_old=self.state.sends_old,
            versioned=this.node.name in self.versioned_parents,
        )


def join_tables(
    left: Table,
    right: Table,
    kind: JoinKind,
    joiner: Callable[..., Any],
    options: Materialized[Any, Any] | None,
    name: str | None,
) -> Table:
    """Add a join. The result has a store if the user names one; it inherits the key serde."""
    operator = "join" if kind is JoinKind.INNER else f"{kind.value}_join"
    shapes = ("left", "right"), ("key", "left", "right")
    with_key = number_of_arguments(operator, "joiner", joiner, *shapes) == 3
    check_fields(operator, joiner, left.value_serde, right.value_serde)
    graph, names = left.graph, left.graph.names
    result = serde_of_result(joiner)
    wanted = _materialization(left, options, result)
    merge_name = names.given_or_new(name, _MERGE)
    sources = copartition(left, [right])
    # With old values, a tombstone of an optional side differs from a row that never existed.
    if kind is not JoinKind.INNER:
        left.state.send_old_values(force=True)
    if kind is JoinKind.OUTER:
        right.state.send_old_values(force=True)
    state = JoinedTable(None if wanted is None else key_value_store(wanted), left, right)
    arms = Arms(
        kind,
        joiner,
        with_key,
        names.suffixed_or_new(name, "-join-this", "KTABLE-JOINTHIS-"),
        names.suffixed_or_new(name, "-join-other", "KTABLE-JOINOTHER-"),
    )
    node = TableJoinStep(merge_name, arms, left, right, state)
    node.output_versioned = wanted is not None and wanted.is_versioned
    graph.add(node, left.node, right.node)
    return Table(
        name=merge_name,
        node=node,
        graph=graph,
        sources=sources,
        state=state,
        key_serde=left.key_serde if wanted is None else wanted.key_serde,
        value_serde=result if wanted is None else wanted.value_serde,
        queryable_store_name=state.store_name,
    )


def _materialization(
    left: Table, options: Materialized[Any, Any] | None, result: Serde[Any] | None
) -> Materialization | None:
    if options is None:
        return None
    return materialize(left.graph, options, _MERGE).with_serdes_or(left.key_serde, result)
