"""Re-keys a table for an aggregation. Node: ``nodes.aggregations.table_group_by``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.dsl.operators.arity import check_arity
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serdes_of_pair
from penstock.dsl.options.stream_options import Grouped
from penstock.dsl.plan.logical import LogicalGraph, LogicalNode, Operator
from penstock.dsl.plan.table import Table
from penstock.processor.functions import FailOnInvalidTimestamp
from penstock.serde.base import Serde
from penstock.serde.change import ChangeSerde
from penstock.serde.serdes import resolve_serde
from penstock.topology.nodes import Sink, Source, TableGroupBy

if TYPE_CHECKING:
    from penstock.dsl.plan.lowering import Lowering


class VersionedOperator(Operator):
    """An operator without a store that needs to know whether its parent is versioned."""

    follows_versions = True

    def _table_fields(self) -> dict[str, Any]:
        return {"versioned": bool(self.versioned_parents)}


class ChangeRepartition(LogicalNode):
    """A repartition topic for changes, with its sink and source. It has the source's name.

    It is never merged with others, and has no filter, since a grouping drops null keys itself.
    """

    def __init__(self, source: str, sink: str, topic: str, grouped: GroupedTable) -> None:
        super().__init__(source)
        self.sink = sink
        self.topic = topic
        self.key_serde = grouped.key_serde
        self.value_serde = ChangeSerde(grouped.value_serde)

    def lower(self, to: Lowering) -> None:
        to.graph.add_internal_topic(self.topic)
        to.graph.add_node(
            Sink(
                name=self.sink,
                parents=self.parent_names,
                topic=self.topic,
                key_serde=self.key_serde,
                value_serde=self.value_serde,
                is_internal=True,
                site=self.site,
            )
        )
        to.graph.add_node(
            Source(
                name=self.name,
                topics=(self.topic,),
                key_serde=self.key_serde,
                value_serde=self.value_serde,
                timestamp_extractor=FailOnInvalidTimestamp(),
                reads_internal=True,
                site=self.site,
            )
        )


@dataclass(slots=True, eq=False)
class GroupedTable:
    """A re-keyed table inside the DSL. Its aggregations: ``table_aggregate``.

    Aggregations share one ``repartition`` if the user gave the grouping a name.
    """

    node: LogicalNode
    graph: LogicalGraph
    name: str | None
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    repartition: ChangeRepartition | None = None


def group_table(
    table: Table, fn: Callable[[Any, Any], tuple[Any, Any]], options: Grouped[Any, Any]
) -> GroupedTable:
    """Add the re-keying. It needs old rows, so the table gets a store if it has none."""
    check_arity("group_by", "selector", fn, "key", "value")
    check_fields("group_by", fn, table.key_serde, table.value_serde)
    graph, said = table.graph, serdes_of_pair(fn)
    name = graph.names.given_or_new(options.name, "KTABLE-SELECT-")
    node = VersionedOperator(name, partial(TableGroupBy, fn=fn))
    graph.add(node, table.node)
    table.state.send_old_values(force=True)
    return GroupedTable(
        node=node,
        graph=graph,
        name=options.name,
        key_serde=resolve_serde(options.key) or said[0],
        value_serde=resolve_serde(options.value) or said[1],
    )
