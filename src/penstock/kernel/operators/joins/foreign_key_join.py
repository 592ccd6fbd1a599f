"""Joins two tables on a foreign key of the left one. Node: ``nodes.joins.foreign_key_join``.

A left row sends a subscription to the right row of its foreign key. The right side keeps the
subscription, answers it, and answers again whenever the right row changes. An answer has the hash
of the left value that asked. If the left value has changed meanwhile, the answer is dropped.

A batch runs one side before the other, so a left row may change several times before the first
answer comes back. A dropped answer may be the one that would have deleted the result. So both sides
of an inner join remember what such answers are about until no message is on its way. Until then,
the next change of the same left row is answered in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.joins.joiner import join_of
from penstock.kernel.serdes import required_serde
from penstock.kernel.value_getter import value_getter_for
from penstock.model.change import Change
from penstock.model.hashing import murmur3_128
from penstock.model.record import Headers
from penstock.model.rules.drop_reasons import (
    NULL_FOREIGN_KEY,
    NULL_KEY,
    OUT_OF_ORDER,
    STALE_RESPONSE,
)
from penstock.model.rules.foreign_key_rule import (
    ANSWER_ALWAYS,
    Request,
    ends,
    has_foreign_value,
    inner_join_requests,
    is_answered,
    is_joined,
    left_join_requests,
    may_miss_deletion,
    takes_null_key,
)
from penstock.model.subscription import SubscriptionResponseWrapper, SubscriptionWrapper
from penstock.model.versioned import ValueAndTimestamp
from penstock.serde.base import Serde
from penstock.serde.combined_key import combined_key, combined_key_prefix
from penstock.topology.nodes.joins.foreign_key_join import (
    ForeignKeyLookUp,
    ForeignKeyReceive,
    ForeignKeyResolve,
    ForeignKeySubscribe,
    ForeignKeyUpdate,
)

ToBytes = Callable[[Any], Any]


@executes(ForeignKeySubscribe)
class ForeignKeySubscribeExecutor(Executor[ForeignKeySubscribe]):
    """Sends at most one new subscription per change, after it has ended the one that is replaced.

    In a left join, a null foreign key subscribes, too. Its answer is ``None`` and makes the result.
    An inner join drops a row that neither had nor has a foreign key.

    If a row gives up a foreign key, an answer deletes its result. If the row changes again before
    that answer is back, the answer will be dropped. So later changes are then always answered.
    """

    def init(self) -> None:
        node = self.node
        self._key_bytes = _writer(self, node.foreign_key_serde, "key", node.foreign_key_topic)
        self._value_bytes = _writer(self, node.value_serde, "value", node.hash_topic)
        self._primary_key = _writer(self, node.primary_key_serde, "key", node.primary_key_topic)
        self._moved = self.task.unsettled(node.name)
        self._extract = node.foreign_key
        self._with_key = node.with_key
        self._is_left_join = node.is_left_join

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        if self.node.versioned and not value.is_latest:
            self.task.dropped(self.node.name, OUT_OF_ORDER)
            return
        requests = self._requests(key, value)
        if not requests:
            return
        digest = None if value.new is None else murmur3_128(self._value_bytes(value.new))
        partition = self.context.partition
        for foreign_key, instruction in requests:
            wrapper = SubscriptionWrapper(digest, instruction, key, primary_partition=partition)
            self.forward(foreign_key, wrapper, timestamp, headers)

    def _requests(self, key: Any, change: Change) -> Sequence[Request]:
        if change.old is None and change.new is None:
            return ()
        old, new = self._foreign_key(key, change.old), self._foreign_key(key, change.new)
        is_moved = old is not None and not self._is_same(old, new)
        if self._is_left_join:
            return left_join_requests(old, new, is_moved=is_moved)
        may_have_result = bool(self._moved) and self._primary_key(key) in self._moved
        if is_moved:
            self._moved[self._primary_key(key)] = None
        elif new is None:
            self.task.dropped(self.node.name, NULL_FOREIGN_KEY)
        return inner_join_requests(old, new, is_moved=is_moved, may_have_result=may_have_result)

    def _foreign_key(self, key: Any, value: Any) -> Any:
        if value is None:
            return None
        return self._extract(key, value) if self._with_key else self._extract(value)

    def _is_same(self, old: Any, new: Any) -> bool:
        # Two keys are one key for Kafka if their bytes are equal, not if the objects are.
        return bool(new is not None and self._key_bytes(old) == self._key_bytes(new))


@executes(ForeignKeyReceive)
class ForeignKeyReceiveExecutor(Executor[ForeignKeyReceive]):
    """Keeps or ends a subscription, and forwards it to be answered.

    A null foreign key has no row to wait for, so its subscription is not kept. It is answered only
    if it says so.

    If the right row was deleted in the same batch, the subscriber has been told under the hash of
    its older value. If its value is another one now, it may drop that answer, so it gets a new one.
    """

    def init(self) -> None:
        node = self.node
        self._store = self.task.store(node.store)
        self._told_deleted = self.task.unsettled(node.store)
        self._foreign_key = _writer(self, node.foreign_key_serde, "key", node.foreign_key_topic)
        self._primary_key = _writer(self, node.primary_key_serde, "key", node.primary_key_topic)

    def process(
        self, key: Any, value: SubscriptionWrapper[Any], timestamp: int, headers: Headers
    ) -> None:
        instruction = value.instruction
        if key is not None:
            subscribed = combined_key(self._foreign_key(key), self._primary_key(value.primary_key))
            if ends(instruction):
                self._store.delete(subscribed)
            else:
                self._store.put(subscribed, ValueAndTimestamp(value, timestamp))
                if may_miss_deletion(self._told_deleted, subscribed, value.hash):
                    self._told_deleted[subscribed] = value.hash
                    value = replace(value, instruction=ANSWER_ALWAYS)
        elif not takes_null_key(instruction):
            self.task.dropped(self.node.name, NULL_FOREIGN_KEY)
            return
        self.forward(key, value, timestamp, headers)


@executes(ForeignKeyLookUp)
class ForeignKeyLookUpExecutor(Executor[ForeignKeyLookUp]):
    """Answers a subscription with the right row; the answer has the later timestamp of both."""

    def init(self) -> None:
        self._rows = value_getter_for(self.task, self.node.table, self.node)

    def process(
        self, key: Any, value: SubscriptionWrapper[Any], timestamp: int, headers: Headers
    ) -> None:
        instruction = value.instruction
        row = None
        if key is not None and is_answered(instruction, has_row=True):
            row = self._rows.get(key)
        if not is_answered(instruction, has_row=row is not None):
            return
        foreign_value = None
        if row is not None and has_foreign_value(instruction):
            foreign_value = row.value
        answer = SubscriptionResponseWrapper(
            value.hash, foreign_value, primary_partition=value.primary_partition
        )
        result_time = timestamp if row is None else max(timestamp, row.timestamp)
        self.forward_at(value.primary_key, answer, result_time, headers)

    def close(self) -> None:
        self._rows.close()


@executes(ForeignKeyUpdate)
class ForeignKeyUpdateExecutor(Executor[ForeignKeyUpdate]):
    """Answers every subscription to a changed row, in the order of the subscribers' key bytes."""

    def init(self) -> None:
        node = self.node
        self._store = self.task.store(node.store)
        self._told_deleted = self.task.unsettled(node.store)
        self._foreign_key = _writer(self, node.foreign_key_serde, "key", node.foreign_key_topic)
        self._versioned = node.versioned

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        if key is None or (self._versioned and not value.is_latest):
            self.task.dropped(self.node.name, NULL_KEY if key is None else OUT_OF_ORDER)
            return
        prefix = combined_key_prefix(self._foreign_key(key))
        with self._store.prefix_scan(prefix, bytes) as subscriptions:
            for subscribed, (subscription, _) in subscriptions:
                if value.new is None:
                    self._told_deleted[subscribed] = subscription.hash
                answer = SubscriptionResponseWrapper(
                    subscription.hash,
                    value.new,
                    primary_partition=subscription.primary_partition,
                )
                self.forward(subscription.primary_key, answer, timestamp, headers)


@executes(ForeignKeyResolve)
class ForeignKeyResolveExecutor(Executor[ForeignKeyResolve]):
    """Joins an answer with the left row that asked; drops it if the left row has changed since."""

    def init(self) -> None:
        node = self.node
        self._rows = value_getter_for(self.task, node.table, node)
        self._value_bytes = _writer(self, node.value_serde, "value", node.hash_topic)
        self._join = join_of(node.joiner, with_key=node.with_key)
        self._is_left_join = node.is_left_join

    def process(
        self, key: Any, value: SubscriptionResponseWrapper[Any], timestamp: int, headers: Headers
    ) -> None:
        row = self._rows.get(key)
        current = None if row is None else murmur3_128(self._value_bytes(row.value))
        if current != value.hash:
            self.task.dropped(self.node.name, STALE_RESPONSE)
            return
        foreign_value, result = value.foreign_value, None
        has_foreign = foreign_value is not None
        if is_joined(has_foreign, row is not None, is_left_join=self._is_left_join):
            result = self._join(key, None if row is None else row.value, foreign_value)
        self.forward(key, result, timestamp, headers)

    def close(self) -> None:
        self._rows.close()


def _writer(executor: Executor[Any], serde: Serde[Any] | None, part: str, topic: str) -> ToBytes:
    node, task = executor.node, executor.task
    found = required_serde(serde, task.defaults, part, f"node {node.name!r}", node.site)
    if type(found).serialize is Serde.serialize:
        return found.encode
    return partial(found.serialize, f"{task.application_id}-{topic}")
