"""The driver as a member of the consumer group ``application.id``: the group decides who leads.

Every driver subscribes to the batch log, which has one partition: its owner leads. The broker
counts the group's generations, and refuses offsets that a transaction commits with an old one.
Kafka's own tools show the member, and refuse to reset the offsets of an application that runs.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from penstock.config import (
    APPLICATION_ID,
    GROUP_INSTANCE_ID,
    HEARTBEAT_INTERVAL_MS,
    PROCESSING_GUARANTEE,
    SESSION_TIMEOUT_MS,
    SLOT_POOL,
    StreamsConfig,
)
from penstock.errors import StreamsError, TaskMigratedError
from penstock.kafka.client_config import consumer_settings
from penstock.kafka.clients import new_consumer
from penstock.model.topic_partition import TopicPartition

log = logging.getLogger(__name__)

_POLL_S = 0.05
#: With exactly once, slots commit the offsets. Then the thread only keeps the membership alive.
_QUIET_POLL_S = 0.5
_COMMIT_S = 60.0
#: How long the group may take to let its members in again after one has come or gone.
_REBALANCE_S = 10.0
_MOVING = frozenset({
    KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION, KafkaError.UNKNOWN_MEMBER_ID,
})  # fmt: skip
_CLOSE_S = 5.0
#: After these errors the client never joins the group again.
_SHUT_OUT = (KafkaError._FATAL, KafkaError._FENCED, KafkaError.FENCED_INSTANCE_ID)


def join_group(config: StreamsConfig, topic: str, changed: Callable[[], None]) -> GroupMember:
    """Join the group of an application. In a pool of many, its thread polls less often."""
    session = {each.name: config[each] for each in (SESSION_TIMEOUT_MS, HEARTBEAT_INTERVAL_MS)}
    is_quiet = config[SLOT_POOL] and config[PROCESSING_GUARANTEE] == "exactly_once_v2"
    # Kafka's tools list the members of a group by this name; else all would be "rdkafka".
    named = {"client.id": f"{config[APPLICATION_ID]}-{socket.gethostname()}-{os.getpid()}"}
    settings = {**named, **session, **consumer_settings(config)}
    return GroupMember(settings, topic, changed, poll_s=_QUIET_POLL_S if is_quiet else _POLL_S)


def away_s(config: StreamsConfig, instances: int) -> float:
    """Return how long an instance stays out of the group, so that the acting leader is chosen.

    For each instance that leaves, the group chooses a leader again. That takes until every member
    has sent a heartbeat, and the group may choose all others before the right one. A static member
    cannot leave: the group keeps its partition until its session ends.
    """
    beat_s = config[HEARTBEAT_INTERVAL_MS] / 1000 + 1.0
    is_static = bool(consumer_settings(config).get(GROUP_INSTANCE_ID.name))
    session_s = config[SESSION_TIMEOUT_MS] / 1000 if is_static else 0.0
    return session_s + beat_s * max(instances, 2)


class GroupMember:
    """Joins the group and stays in it until ``close``.

    Args:
        settings: those of the application's main consumer, with session and heartbeat.
        changed: called, from another thread, whenever ``leads`` has changed.
        poll_s: how long ``commit`` and ``close`` may have to wait for the polling thread.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        topic: str,
        changed: Callable[[], None],
        *,
        poll_s: float = _POLL_S,
    ) -> None:
        self._topic = topic
        self._poll_s = poll_s
        self._changed = changed
        self.leads = threading.Event()
        #: Set when the group has assigned partitions to this member, or none.
        self.has_joined = threading.Event()
        self._closing = threading.Event()
        #: Set while this member replaces a leader whose process has ended.
        self._acts = threading.Event()
        self._rejoin_at: float | None = None
        #: How long to stay away, while a decline waits for the polling thread.
        self._away_s: float | None = None
        self._choice = threading.Lock()
        #: Whether the group has removed this member because it was silent, or Kafka was away.
        self._is_lost = False
        #: Why this member can never be part of the group again.
        self._failure: StreamsError | None = None
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        fixed = {
            "partition.assignment.strategy": "cooperative-sticky",
            "group.protocol": "classic",
            "enable.auto.commit": False,
            "auto.offset.reset": "latest",
            # While it is polled, the client reports here that the group has excluded it.
            "error_cb": self._heed,
        }
        self._consumer: Consumer = new_consumer({**settings, **fixed})
        #: The metadata of the group without a member. With it, the broker checks no membership.
        self._nobody: bytes = self._consumer.consumer_group_metadata()
        self._subscribe()
        self._thread = threading.Thread(target=self._run, name="penstock-member", daemon=True)
        self._thread.start()

    def metadata(self) -> bytes:
        """Return the group metadata for transactions, which names no member.

        With a membership, the broker would refuse the commit of a batch whenever another instance
        has come or gone since the batch began. The generation of the batch log and the
        transactional ids fence a leader that was replaced.
        """
        return self._nobody

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets as this member, outside of any transaction."""
        if not offsets:
            return
        parts = [KafkaPartition(*part, offset) for part, offset in offsets.items()]
        done: Future[None] = Future()

        def commit() -> None:
            try:
                self._commit(parts)
                done.set_result(None)
            except BaseException as error:  # noqa: BLE001 - the caller raises it
                done.set_exception(error)

        self._calls.put(commit)
        try:
            done.result(_COMMIT_S)
        except TimeoutError:
            raise StreamsError(
                "broker-away",
                "Kafka did not take the offsets of a batch",
                fix="check the broker; the batch runs again when it is back",
            ) from None

    def _commit(self, parts: list[KafkaPartition]) -> None:
        """Commit in the polling thread; while the group takes in another member, try again."""
        deadline = time.monotonic() + _REBALANCE_S
        while True:
            try:
                self._consumer.commit(offsets=parts, asynchronous=False)
                return
            except KafkaException as error:
                is_moving = error.args[0].code() in _MOVING
                if not is_moving or not self.is_leading or time.monotonic() > deadline:
                    raise
                self._consumer.poll(_POLL_S)

    def act(self, *, needs_group: bool) -> bool:
        """Act as leader until the group has noticed that the leader is gone; false if it cannot.

        Args:
            needs_group: whether offsets are committed outside of transactions. The group accepts
                those only from its members.
        """
        if needs_group and not self.has_joined.is_set():
            return False
        self._acts.set()
        return True

    def stand_down(self) -> None:
        """Stand in for nobody any more: another instance does, or the leader is back."""
        self._acts.clear()

    def decline(self, away_s: float) -> None:
        """Return the partition, because another instance already acts as leader.

        This instance leaves the group for a while. Then the group can only choose among the others.
        The one that leads keeps the partition when this instance is back.

        Args:
            away_s: long enough for every other instance that does not lead to decline as well.
        """
        with self._choice:
            self._away_s = away_s

    def take(self) -> bool:
        """Begin to lead by the group's choice; false if this member has given the partition back.

        A decline that the polling thread has not carried out is void. The instance that it was
        meant for has ended since, and this one would lose the lead right after it took it.
        """
        with self._choice:
            self._away_s = None
            return self.leads.is_set()

    @property
    def is_leading(self) -> bool:
        """Whether this instance leads: the group has chosen it, or it acts for a dead leader."""
        return self.leads.is_set() or self._acts.is_set()

    def check(self) -> None:
        """Raise if this instance does not lead any more."""
        self.raise_failure()
        if not self.is_leading:
            raise TaskMigratedError(
                "not-leading",
                "Kafka has not heard of this instance for longer than session.timeout.ms"
                if self._is_lost
                else "the group has given the lead to another instance",
                fix="nothing to do: this instance leads again when it is its turn",
            )

    def raise_failure(self) -> None:
        """Raise the error that has excluded this member from the group, if there is one."""
        if self._failure is not None:
            raise self._failure

    def close(self, *, leave: bool = True) -> None:
        """Leave the group, so that another instance leads at once; or only stop polling."""
        self._closing.set()
        self._thread.join(_CLOSE_S)
        self.leads.clear()
        self._acts.clear()
        if leave:
            closing = threading.Thread(target=self._close, name="penstock-leave", daemon=True)
            closing.start()
            # Do not wait for a broker that cannot be reached.
            closing.join(_CLOSE_S)

    def _close(self) -> None:
        # If the other thread is inside a call of the client, closing the client may never return.
        self._thread.join()
        with contextlib.suppress(KafkaException, RuntimeError):
            self._consumer.close()

    def _run(self) -> None:
        """Poll, and run the calls of other threads: in their own threads, the client hangs."""
        while not self._closing.is_set():
            try:
                message = self._consumer.poll(self._poll_s)
                self._heed(None if message is None else message.error())
                while not self._calls.empty():
                    self._calls.get()()
                self._leave_if_declined()
                if self._rejoin_at is not None and time.monotonic() > self._rejoin_at:
                    self._rejoin_at = None
                    self._subscribe()
            except (KafkaException, RuntimeError) as error:
                log.debug("the group member could not poll: %s", error)
                self._closing.wait(_POLL_S)

    def _heed(self, error: KafkaError | None) -> None:
        """Note an error after which the client never joins the group again."""
        if error is None or self._failure is not None:
            return
        if not (error.fatal() or error.code() in _SHUT_OUT):
            log.debug("the group member reported: %s", error)
            return
        self._failure = StreamsError(
            "instance-id-in-use",
            f"the group has excluded this instance: {error.str()}",
            fix="give every instance a group.instance.id of its own, or leave it out; then start"
            " this one again",
        )
        self.leads.clear()
        self._acts.clear()
        self._changed()

    def _subscribe(self) -> None:
        self._consumer.subscribe(
            [self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    def _leave_if_declined(self) -> None:
        with self._choice:
            away_s, self._away_s = self._away_s, None
            if away_s is None or not self.leads.is_set():
                return
            self._rejoin_at = time.monotonic() + away_s
            self.leads.clear()
            self.has_joined.clear()
        self._consumer.unsubscribe()

    def _assigned(self, consumer: Consumer, parts: list[KafkaPartition]) -> None:
        consumer.incremental_assign(parts)
        self._is_lost = False
        if parts:
            # The partition only says who leads. Its records are read by another consumer.
            consumer.pause(parts)
            self.leads.set()
            self._acts.clear()
        self.has_joined.set()
        self._changed()

    def _revoked(self, consumer: Consumer, parts: list[KafkaPartition]) -> None:
        with contextlib.suppress(KafkaException):
            consumer.incremental_unassign(parts)
        if parts:
            self.leads.clear()
            if not self._closing.is_set():
                log.warning("this instance no longer leads the application")
        self._changed()

    def _lost(self, consumer: Consumer, parts: list[KafkaPartition]) -> None:
        """Note that the group has removed this member: it must not act as leader either."""
        self._acts.clear()
        self._is_lost = True
        self._revoked(consumer, parts)
