"""Joins two tables on a foreign key. As data: ``topology.nodes.joins.foreign_key_join``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.dsl.operators.aggregations.table_group_by import VersionedOperator
from penstock.dsl.operators.arity import number_of_arguments
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serde_of_result
from penstock.dsl.options.join_options import TableJoined
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.plan.logical import LogicalNode, Operator, PlannedStore
from penstock.dsl.plan.materialize import key_value_store, materialize
from penstock.dsl.plan.table import SourceTable, Table
from penstock.errors import InvalidArgumentError
from penstock.model.subscription import to_asking_partition
from penstock.processor.functions import StreamPartitioner
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes
from penstock.serde.subscription import SubscriptionResponseWrapperSerde, SubscriptionWrapperSerde
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import (
    ForeignKeyLookUp,
    ForeignKeyReceive,
    ForeignKeyResolve,
    ForeignKeySubscribe,
    ForeignKeyUpdate,
    Sink,
    Source,
    TableSource,
)

if TYPE_CHECKING:
    from penstock.dsl.plan.lowering import Lowering

_SINK = "KTABLE-SINK-"
_SOURCE = "KTABLE-SOURCE-"
_REGISTRATION = "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-"
_PROCESSOR = "KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-"
_STORE = "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-"
_RESPONSE = "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-"
_RESOLVER = "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-"
_OUTPUT = "KTABLE-FK-JOIN-OUTPUT-"


@dataclass(frozen=True, slots=True)
class OnePartition:
    """Wraps a user's partitioner of a foreign-key join: it gets no value, returns one partition."""

    partitioner: StreamPartitioner

    def __call__(self, topic: str, key: Any, value: Any, partitions: int) -> Iterable[int] | None:
        chosen = self.partitioner(topic, key, None, partitions)
        if chosen is None:
            return None
        chosen = {chosen} if isinstance(chosen, int) else set(chosen)
        if len(chosen) != 1:
            raise InvalidArgumentError(
                "not-one-partition",
                f"the partitioner of a foreign-key join chose partitions {sorted(chosen)} of topic"
                f" {topic!r} for key {key!r}",
                fix="choose exactly one partition, or None for the default",
            )
        return chosen


class TopicSource(LogicalNode):
    """The source of one of the join's two topics."""

    def __init__(self, name: str, topic: str, key_serde: Serde[Any] | None, serde: Serde[Any]):
        super().__init__(name)
        self.topic = topic
        self.key_serde = key_serde
        self.value_serde = serde

    def lower(self, to: Lowering) -> None:
        to.graph.add_node(
            Source(
                name=self.name,
                topics=(self.topic,),
                key_serde=self.key_serde,
                value_serde=self.value_serde,
                reads_internal=True,
                site=self.site,
            )
        )


def join_tables_on_foreign_key(
    left: Table,
    right: Table,
    foreign_key: Callable[..., Any],
    joiner: Callable[..., Any],
    joined: TableJoined[Any, Any],
    options: Materialized[Any, Any] | None,
    *,
    is_left: bool,
) -> Table:
    """Add a join. Its result has a store if the user names one or a later operator needs it."""
    operator = "left_join" if is_left else "join"
    shapes = ("left", "right"), ("key", "left", "right")
    key_shapes = ("value",), ("key", "value")
    check_fields(operator, foreign_key, left.key_serde, left.value_serde)
    check_fields(operator, joiner, left.value_serde, right.value_serde)
    join = _Join(
        left,
        right,
        joined,
        foreign_key,
        number_of_arguments(operator, "foreign_key", foreign_key, *key_shapes) == 2,
        joiner,
        number_of_arguments(operator, "joiner", joiner, *shapes) == 3,
        is_left,
    )
    # Old rows are needed to end their subscriptions.
    right.state.send_old_values(force=True)
    left.state.send_old_values(force=True)
    answers = join.add_right_side(join.add_registration())
    return join.add_result(join.add_response(answers), options or Materialized())


class _Join:
    """Adds the nodes one after the other. Names are taken in Java's order."""

    def __init__(
        self,
        left: Table,
        right: Table,
        joined: TableJoined[Any, Any],
        foreign_key: Callable[..., Any],
        key_with_key: bool,
        joiner: Callable[..., Any],
        with_key: bool,
        is_left: bool,
    ) -> None:
        self.left, self.right = left, right
        self.graph = left.graph
        self.joined = joined
        self.foreign_key, self.key_with_key = foreign_key, key_with_key
        self.joiner, self.with_key, self.is_left = joiner, with_key, is_left
        self.topic = self._topic("-subscription-registration", _REGISTRATION)
        self.subscriptions = SubscriptionWrapperSerde(left.key_serde, f"{self.topic}-pk")
        self.responses = SubscriptionResponseWrapperSerde(right.value_serde)

    def add_registration(self) -> LogicalNode:
        """Add the sending part of the left side, and return the source of subscriptions."""
        send = VersionedOperator(
            self._name("-subscription-registration-processor", _REGISTRATION),
            partial(
                ForeignKeySubscribe,
                foreign_key=self.foreign_key,
                with_key=self.key_with_key,
                is_left_join=self.is_left,
                primary_key_serde=self.left.key_serde,
                foreign_key_serde=self.right.key_serde,
                value_serde=self.left.value_serde,
                foreign_key_topic=f"{self.topic}-fk",
                primary_key_topic=f"{self.topic}-pk",
                hash_topic=f"{self.topic}-vh",
            ),
        )
        self.graph.add(send, self.left.node)
        partitioner = self.joined.other_partitioner
        sink = Operator(
            self._name("-subscription-registration-sink", _SINK),
            partial(
                Sink,
                topic=self.topic,
                key_serde=self.right.key_serde,
                value_serde=self.subscriptions,
                partitioner=None if partitioner is None else OnePartition(partitioner),
                is_internal=True,
            ),
        )
        self.graph.add(sink, send)
        name = self._name("-subscription-registration-source", _SOURCE)
        source = TopicSource(name, self.topic, self.right.key_serde, self.subscriptions)
        self.graph.add(source, sink)
        self.graph.copartition(*self.right.sources, name)
        return source

    def add_right_side(self, source: LogicalNode) -> tuple[LogicalNode, LogicalNode]:
        """Add the right side, and return the two nodes that answer subscriptions."""
        store = self._subscription_store()
        keys: dict[str, Any] = {
            "store": store.name,
            "foreign_key_serde": self.right.key_serde,
            "primary_key_serde": self.left.key_serde,
            "foreign_key_topic": f"{self.topic}-fk",
            "primary_key_topic": f"{self.topic}-pk",
        }
        receive = Operator(
            self._name("-subscription-receive", _PROCESSOR),
            partial(ForeignKeyReceive, **keys),
            adds=[store],
        )
        self.graph.add(receive, source)
        look_up = Operator(
            self._name("-subscription-join-foreign", _PROCESSOR),
            partial(ForeignKeyLookUp, table=self.right.name),
            connects=self.right.state.reading_stores(),
        )
        self.graph.add(look_up, receive)
        update = VersionedOperator(
            self._name("-foreign-join-subscription", _PROCESSOR),
            partial(ForeignKeyUpdate, **keys),
            adds=[store],
        )
        self.graph.add(update, self.right.node)
        return look_up, update

    def add_response(self, answers: tuple[LogicalNode, LogicalNode]) -> LogicalNode:
        """Add the topic of answers, and return its source."""
        topic = self._topic("-subscription-response", _RESPONSE)
        partitioner = self.joined.partitioner
        sink = Operator(
            self._name("-subscription-response-sink", _SINK),
            partial(
                Sink,
                topic=topic,
                key_serde=self.left.key_serde,
                value_serde=self.responses,
                partitioner=to_asking_partition
                if partitioner is None
                else OnePartition(partitioner),
                is_internal=True,
            ),
        )
        self.graph.add(sink, *answers)
        name = self._name("-subscription-response-source", _SOURCE)
        source = TopicSource(name, topic, self.left.key_serde, self.responses)
        self.graph.add(source, sink)
        self.graph.copartition(*self.left.sources, name)
        return source

    def add_result(self, source: LogicalNode, options: Materialized[Any, Any]) -> Table:
        """Add the receiving part of the left side: join answers with rows, and return the table."""
        left = self.left
        resolve = Operator(
            self._name("-subscription-response-resolver", _RESOLVER),
            partial(
                ForeignKeyResolve,
                table=left.name,
                joiner=self.joiner,
                is_left_join=self.is_left,
                with_key=self.with_key,
                value_serde=left.value_serde,
                hash_topic=f"{self.topic}-vh",
            ),
            connects=left.state.reading_stores(),
        )
        self.graph.add(resolve, source)
        name = self._name("-result", _OUTPUT)
        wanted = materialize(self.graph, options, _OUTPUT).with_serdes_or(
            left.key_serde, serde_of_result(self.joiner)
        )
        state = SourceTable(key_value_store(wanted), is_materialized=wanted.is_queryable)
        node = Operator(name, TableSource, table=state, output_versioned=wanted.is_versioned)
        self.graph.add(node, resolve)
        return Table(
            name=name,
            node=node,
            graph=self.graph,
            sources=left.sources | {source.name},
            state=state,
            key_serde=left.key_serde,
            value_serde=wanted.value_serde,
            queryable_store_name=wanted.store_name,
        )

    def _subscription_store(self) -> PlannedStore:
        spec = StoreSpec(
            name=self._name("-subscription-store", _STORE),
            kind=StoreKind.FOREIGN_KEY_SUBSCRIPTION,
            key_serde=Serdes.bytes(),
            value_serde=self.subscriptions,
        )
        return PlannedStore(spec, has_type=False)

    def _name(self, suffix: str, prefix: str) -> str:
        return self.graph.names.suffixed_or_new(self.joined.name, suffix, prefix)

    def _topic(self, suffix: str, prefix: str) -> str:
        topic = f"{self._name(suffix, prefix)}-topic"
        self.graph.internal_topics[topic] = None
        return topic
