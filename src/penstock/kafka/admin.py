"""Reads and changes topics, offsets and consumer groups of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import (
    OFFSET_INVALID,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicMetadata,
)

from penstock.kafka.admin_answers import (
    Broker,
    Cluster,
    ConfigValue,
    Group,
    Partition,
    PartitionState,
    Topic,
    TopicSpec,
)
from penstock.kafka.admin_calls import AdminCalls, repeated
from penstock.kafka.admin_failures import (
    topic_differs,
    unknown_partition,
    unknown_topic,
    unreachable,
)
from penstock.kafka.errors import KafkaRequestError, UnknownGroupError
from penstock.kafka.refusals import Right

#: How long a question about offsets waits for a leader that has just been chosen.
_NEW_LEADER_S = 2.0
#: Errors of a broker for a partition whose leader it will be in a moment.
_NOT_LEADING_YET = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
)


class Admin:
    """A connection that manages one cluster. Threads may share it.

    A call that changes topics returns when other clients can see the change.

    Args:
        settings: settings of librdkafka, such as ``admin_settings(config)`` returns.
        timeout_s: how long each call waits for an answer.
    """

    def __init__(self, settings: Mapping[str, Any], *, timeout_s: float = 30.0) -> None:
        self._calls = AdminCalls(settings, timeout_s)
        self._client = self._calls.client
        self._timeout_s = timeout_s
        self._limit = {"request_timeout": timeout_s}
        self._limits = {"request_timeout": timeout_s, "operation_timeout": timeout_s}
        self._known_partitions: set[Partition] = set()

    def cluster(self) -> Cluster:
        metadata = self._calls.metadata("reach the cluster")
        brokers = (Broker(b.id, str(b.host), int(b.port or 0)) for b in metadata.brokers.values())
        return Cluster(metadata.cluster_id, tuple(sorted(brokers, key=lambda b: b.id)))

    def creates_topics(self) -> bool | None:
        """Return whether brokers create topics that clients ask for; None if that is not told."""
        resource = ConfigResource(ResourceType.BROKER, str(self.cluster().brokers[0].id))
        try:
            entries = self._calls.answer(
                lambda: self._client.describe_configs([resource], **self._limit)[resource],
                "read the settings of a broker",
                Right("DescribeConfigs", "cluster", "kafka-cluster"),
            )
        except KafkaRequestError:
            # Some services let nobody read them.
            return None
        found = entries.get("auto.create.topics.enable")
        return None if found is None else found.value == "true"

    def topics(self, *, internal: bool = False) -> dict[str, Topic]:
        """Return the topics by name, in order, without the broker's own unless asked for."""
        found = (_topic(data) for data in self._calls.metadata("list topics").topics.values())
        chosen = (topic for topic in found if internal or not topic.is_internal)
        return {topic.name: topic for topic in sorted(chosen, key=lambda topic: topic.name)}

    def topic(self, name: str) -> Topic:
        """Return one topic.

        Raises:
            UnknownTopicError: if there is no such topic; it suggests the nearest name.
        """
        topics = self.topics(internal=True)
        if name not in topics:
            raise self._missing(name, topics)
        return topics[name]

    def topic_ids(self, names: Iterable[str]) -> dict[str, str]:
        """Return the ids of topics, without topics that do not exist.

        A topic that was deleted and created again with the same name has another id.
        """
        wanted = list(names)
        if not wanted:
            return {}
        asked = TopicCollection(wanted)
        found = self._client.describe_topics(asked, **self._limit)
        ids: dict[str, str] = {}
        for name, future in found.items():
            try:
                ids[name] = str(future.result().topic_id)
            except KafkaException as failure:
                if failure.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    needs = Right("Describe", "topic", name)
                    what = f"describe topic {name!r}"
                    raise self._calls.explained(failure, what, needs) from None
        return ids

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication: int = -1,
        config: Mapping[str, str] | None = None,
    ) -> bool:
        """Create one topic, and return whether it is new; see ``create_topics``."""
        spec = TopicSpec(name, partitions, replication, config or {})
        return name in self.create_topics([spec])

    def create_topics(self, specs: Iterable[TopicSpec]) -> set[str]:
        """Create topics, and return the names of those that are new.

        Raises:
            TopicExistsError: if a topic exists with another number of partitions.
        """
        wanted = {spec.name: spec for spec in specs}
        if not wanted:
            return set()
        request = [_request(spec, {**spec.newer, **spec.config}) for spec in wanted.values()]
        asked = self._client.create_topics(request, **self._limits)
        made = {name for name, future in asked.items() if self._created(wanted[name], future)}
        present = wanted.keys() - made
        for name in made:
            # A user may have the right to create a topic and not to see it.
            self._calls.check_visible(name, f"see the new topic {name!r}")
        self._await(lambda topics: all(_is_led(topics.get(name)) for name in made), made)
        self._await_leaders([(name, n) for name in made for n in range(wanted[name].partitions)])
        for name in present:
            found = len(self.topic(name).partitions)
            if found != wanted[name].partitions:
                raise topic_differs(name, wanted[name].partitions, found)
        return made

    def _created(self, spec: TopicSpec, asked: Future[Any]) -> bool:
        """Wait until a topic is there, and return whether it is new.

        Ask again while the cluster is not ready: all its brokers may have just been started.
        """
        futures, config = [asked], {**spec.newer, **spec.config}

        def ask() -> bool:
            if not futures:
                new = _request(spec, config)
                futures.append(self._client.create_topics([new], **self._limits)[spec.name])
            try:
                futures.pop().result()
            except KafkaException as failure:
                code = failure.args[0].code()
                if code == KafkaError.TOPIC_ALREADY_EXISTS:
                    return False
                if code == KafkaError.INVALID_CONFIG and config != dict(spec.config):
                    config.clear()
                    config.update(spec.config)
                    return ask()
                raise
            return True

        needs = Right("Create", "topic", spec.name)
        return self._calls.tried(ask, f"create topic {spec.name!r}", needs=needs)

    def delete_topics(self, names: Iterable[str], *, missing_ok: bool = False) -> None:
        """Delete topics with all their records.

        Raises:
            UnknownTopicError: one does not exist and ``missing_ok`` was not given.
        """
        gone = list(names)
        if not gone:
            return
        for name, future in self._client.delete_topics(gone, **self._limits).items():
            try:
                future.result()
            except KafkaException as failure:
                if failure.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    needs = Right("Delete", "topic", name)
                    raise self._calls.explained(failure, f"delete topic {name!r}", needs) from None
                if not missing_ok:
                    raise self._missing(name, self.topics()) from None
        self._await(lambda topics: not any(name in topics for name in gone), gone)

    def add_partitions(self, name: str, total: int) -> None:
        """Add partitions to a topic, up to ``total``. Keys then move to other partitions."""
        self.topic(name)
        request = [NewPartitions(name, total)]
        self._calls.answer(
            lambda: self._client.create_partitions(request, **self._limits)[name],
            f"give topic {name!r} {total} partitions",
            Right("Alter", "topic", name),
        )
        self._await(lambda topics: len(topics[name].partitions) >= total, [name])

    def topic_config(self, name: str) -> dict[str, ConfigValue]:
        """Return all settings of a topic: its own and the broker's defaults."""
        self.topic(name)
        resource = ConfigResource(ResourceType.TOPIC, name)
        entries = self._calls.answer(
            lambda: self._client.describe_configs([resource], **self._limit)[resource],
            f"read the settings of topic {name!r}",
            Right("DescribeConfigs", "topic", name),
        )
        return {
            key: ConfigValue(entry.value, _source(entry) is ConfigSource.DYNAMIC_TOPIC_CONFIG)
            for key, entry in sorted(entries.items())
        }

    def alter_topic_config(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Change settings of a topic; None restores the broker's default."""
        self.topic(name)
        entries = [
            ConfigEntry(
                key,
                value,
                incremental_operation=AlterConfigOpType.DELETE
                if value is None
                else AlterConfigOpType.SET,
            )
            for key, value in changes.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
        self._calls.answer(
            lambda: self._client.incremental_alter_configs([resource], **self._limit)[resource],
            f"change the settings of topic {name!r}",
            Right("AlterConfigs", "topic", name),
        )
        # The broker that is asked learns of the change a moment later. It may return a value in
        # another form than it was given, so the wait has a limit.
        deadline = time.monotonic() + min(2.0, self._timeout_s)
        while not self._has_config(name, changes) and time.monotonic() < deadline:
            time.sleep(0.02)

    def _has_config(self, name: str, changes: Mapping[str, str | None]) -> bool:
        found = self.topic_config(name)
        own = {key: item.value for key, item in found.items() if item.is_own}
        return all(own.get(key) == value for key, value in changes.items())

    def begin_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the first offset of each partition that still has a record."""
        return self._offsets(partitions, OffsetSpec.earliest())

    def end_offsets(
        self, partitions: Iterable[Partition], *, committed: bool = False
    ) -> dict[Partition, int]:
        """Return the offset after the last record; ``committed`` stops at open transactions."""
        return self._offsets(partitions, OffsetSpec.latest(), committed=committed)

    def offsets_at(self, partitions: Iterable[Partition], time_ms: int) -> dict[Partition, int]:
        """Return the first offset with this event time or a later one; -1 if there is none."""
        return self._offsets(partitions, OffsetSpec.for_timestamp(time_ms))

    def delete_records(self, before: Mapping[Partition, int]) -> dict[Partition, int]:
        """Delete the records before the offsets (-1: all), and return the new first offsets."""
        request = [TopicPartition(topic, number, at) for (topic, number), at in before.items()]
        if not request:
            return {}
        first = {}
        for partition, future in self._client.delete_records(request, **self._limits).items():
            what = f"delete records of {partition.topic!r} partition {partition.partition}"
            deleted = self._calls.result(future, what, Right("Delete", "topic", partition.topic))
            first[partition.topic, partition.partition] = int(deleted.low_watermark)
        return first

    def groups(self) -> list[Group]:
        """Return the consumer groups, without their members."""
        listed = self._calls.answer(
            lambda: self._client.list_consumer_groups(**self._limit),
            "list groups",
            Right("Describe", "cluster"),
        )
        groups = (Group(group.group_id, _word(group.state)) for group in listed.valid)
        return sorted(groups, key=lambda group: group.id)

    def group(self, group_id: str) -> Group:
        """Return one group; a group that does not exist has the state ``dead``."""
        try:
            found = self._calls.answer(
                lambda: self._client.describe_consumer_groups([group_id], **self._limit)[group_id],
                f"describe group {group_id!r}",
                Right("Describe", "group", group_id),
            )
        except UnknownGroupError:
            return Group(group_id, "dead")
        members = tuple(sorted(member.client_id for member in found.members))
        return Group(group_id, _word(found.state), members)

    def group_offsets(
        self, group_id: str, partitions: Iterable[Partition] | None = None
    ) -> dict[Partition, int]:
        """Return the committed offsets of a group; partitions without one are left out."""
        if partitions is None:
            topics = self.topics().values()
            partitions = [(t.name, number) for t in topics for number in range(len(t.partitions))]
        asked = [TopicPartition(*item) for item in partitions]
        if not asked:
            return {}
        found = self._calls.committed(group_id, asked)
        for part in found:
            if part.error is not None:
                what = f"read the offsets of group {group_id!r}"
                raise self._calls.explained(KafkaException(part.error), what)
        return {(p.topic, p.partition): p.offset for p in found if p.offset >= 0}

    def alter_group_offsets(self, group_id: str, offsets: Mapping[Partition, int]) -> None:
        """Move a group that has no members to the given offsets."""
        moved = [TopicPartition(topic, number, at) for (topic, number), at in offsets.items()]
        if not moved:
            return
        what, needs = f"move the offsets of group {group_id!r}", Right("Read", "group", group_id)
        request = [ConsumerGroupTopicPartitions(group_id, moved)]
        answer = self._calls.answer(
            lambda: self._client.alter_consumer_group_offsets(request, **self._limit)[group_id],
            what,
            needs,
        )
        for partition in answer.topic_partitions:
            if partition.error is not None:
                raise self._calls.explained(KafkaException(partition.error), what, needs)

    def delete_groups(self, group_ids: Iterable[str], *, missing_ok: bool = False) -> None:
        """Delete groups without members, and their committed offsets.

        Raises:
            UnknownGroupError: one does not exist and ``missing_ok`` was not given.
        """
        for group_id in group_ids:
            try:
                self._delete_group(group_id)
            except UnknownGroupError:
                if not missing_ok:
                    raise

    def _delete_group(self, group_id: str) -> None:
        self._calls.answer(
            lambda: self._client.delete_consumer_groups([group_id], **self._limit)[group_id],
            f"delete group {group_id!r}",
            Right("Delete", "group", group_id),
        )

    def _offsets(
        self, partitions: Iterable[Partition], spec: Any, *, committed: bool = False
    ) -> dict[Partition, int]:
        asked = list(partitions)
        if not asked:
            return {}
        if not self._known_partitions.issuperset(asked):
            # Only when needed: a large cluster has very many topics, and every batch calls this.
            self._check_partitions(asked)
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        request = {TopicPartition(*partition): spec for partition in asked}

        def ask() -> dict[Partition, int]:
            futures = self._client.list_offsets(request, isolation_level=level, **self._limit)
            return {(p.topic, p.partition): self._offset(p, f) for p, f in futures.items()}

        def may_pass(error: KafkaRequestError) -> bool:
            if error.code in ("kafka-refused", "kafka-not-ready"):
                # If the topic has been deleted meanwhile, that is the better reason.
                self._check_partitions(asked)
            return error.code == "kafka-not-ready"

        return repeated(ask, KafkaRequestError, may_pass, _NEW_LEADER_S)

    def _offset(self, part: TopicPartition, answer: Future[Any]) -> int:
        what = f"read offsets of {part.topic!r}"
        found = self._calls.result(answer, what, Right("Describe", "topic", part.topic))
        if found.offset == OFFSET_INVALID:
            # If the broker dies during the request, the answer is empty and there is no error.
            raise unreachable(what, self._calls.bootstrap, "the answer is empty")
        return int(found.offset)

    def _missing(self, name: str, known: Iterable[str]) -> KafkaRequestError:
        """Return the error for a topic that is not listed: it is hidden, or it does not exist."""
        try:
            self._calls.check_visible(name, f"use topic {name!r}")
        except KafkaRequestError as hidden:
            return hidden
        return unknown_topic(name, known)

    def _check_partitions(self, asked: Iterable[Partition]) -> None:
        self._known_partitions.clear()
        topics = self.topics(internal=True)
        for name, number in asked:
            if name not in topics:
                raise self._missing(name, topics)
            if not 0 <= number < len(topics[name].partitions):
                raise unknown_partition(name, number, len(topics[name].partitions))
            self._known_partitions.add((name, number))

    def _await(self, is_done: Callable[[dict[str, Topic]], bool], names: Iterable[str]) -> None:
        """Wait until the broker that is asked has learned of a change of topics."""
        deadline = time.monotonic() + self._timeout_s
        while not is_done(self.topics(internal=True)):
            if time.monotonic() > deadline:
                what = f"see the change of {', '.join(sorted(names))}"
                raise unreachable(what, self._calls.bootstrap, f"waited {self._timeout_s:.0f} s")
            time.sleep(0.02)

    def _await_leaders(self, partitions: Iterable[Partition]) -> None:
        """Wait until the leaders of partitions answer: they are named before they are ready.

        A producer that writes in between can lose records. The leader refuses the first batch and
        accepts the second. When the first is sent again, it counts as a duplicate.
        """
        request = {TopicPartition(*each): OffsetSpec.latest() for each in partitions}
        if request:
            self._calls.tried(
                lambda: [f.result() for f in self._client.list_offsets(request).values()],
                "reach the leaders of new topics",
                _NOT_LEADING_YET,
            )


def _topic(data: TopicMetadata) -> Topic:
    states = (
        PartitionState(p.id, p.leader, tuple(p.replicas), tuple(p.isrs))
        for p in data.partitions.values()
    )
    return Topic(str(data.topic), tuple(sorted(states, key=lambda state: state.id)))


def _is_led(topic: Topic | None) -> bool:
    return (
        topic is not None
        and bool(topic.partitions)
        and all(state.leader >= 0 for state in topic.partitions)
    )


def _source(entry: ConfigEntry) -> ConfigSource:
    # The client returns a plain number here, unlike its type hint.
    return ConfigSource(entry.source)


def _word(state: Any) -> str:
    return str(state.name).lower()


def _request(spec: TopicSpec, config: Mapping[str, str]) -> NewTopic:
    return NewTopic(
        spec.name,
        num_partitions=spec.partitions,
        replication_factor=spec.replication,
        config={key: str(value) for key, value in config.items()},
    )
