"""Checks the source topics of an application, and describes its internal topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.config import (
    APPLICATION_ID,
    DEAD_LETTER_TOPIC,
    NUM_STREAM_THREADS,
    REPLICATION_FACTOR,
    WINDOW_CHANGELOG_RETENTION_MS,
    StreamsConfig,
)
from penstock.errors import TopologyError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Topic, TopicSpec
from penstock.kafka.embedded import shared_broker
from penstock.model.time.duration import MAX_LONG
from penstock.runtime.spark.exchange.plan import Plan, rows_topic
from penstock.runtime.spark.worker.writer import LARGEST_BUNDLE
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source
from penstock.topology.nodes.topics.to_lake import DriverSink
from penstock.topology.validate import nearest

#: Records of internal topics have the times of events, or of a clock that may be wrong. Kafka 4
#: refuses records that are an hour ahead, unless a topic takes them; Kafka 3.5 has no such setting.
_ANY_TIME = {"message.timestamp.after.max.ms": str(MAX_LONG)}
_WINDOWED = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW, StoreKind.SESSION)


def batches_topic(application_id: str) -> str:
    return f"{application_id}-penstock-batches"


def resolve_patterns(graph: Graph, existing: Mapping[str, Topic]) -> Graph:
    """Return the graph with patterns replaced by the topics that match them now."""
    nodes = dict(graph.nodes)
    for name, node in graph.nodes.items():
        if isinstance(node, Source) and node.pattern is not None:
            pattern = node.pattern
            topics = tuple(sorted(t for t in existing if pattern.fullmatch(t)))
            if not topics:
                raise TopologyError(
                    "missing-source-topic",
                    f"no topic matches the pattern {pattern.pattern!r} of source {name!r}",
                    fix="create a topic that matches before the application starts",
                    at=node.site,
                )
            nodes[name] = replace(node, topics=topics, pattern=None)
    return replace(graph, nodes=nodes)


def source_partitions(graph: Graph, existing: Mapping[str, Topic]) -> dict[str, int]:
    """Return the partition counts of all external source topics; raise if a topic is missing."""
    sizes: dict[str, int] = {}
    for node in graph.nodes.values():
        if not isinstance(node, Source):
            continue
        for topic in node.topics:
            if topic in graph.internal_topics:
                continue
            if topic not in existing:
                raise TopologyError(
                    "missing-source-topic",
                    f"source topic {topic!r} does not exist{nearest(topic, existing)}",
                    fix=f"create it before the application starts: penstock topics create {topic}",
                    at=node.site,
                )
            sizes[topic] = len(existing[topic].partitions)
    return sizes


def make_topics(
    admin: Admin, graph: Graph, partitions: int, dead_letters: str | None = None
) -> None:
    """Create the topics that the program uses, all of one size, so that they can be joined."""
    there = admin.topics()
    if dead_letters is not None and dead_letters not in there:
        admin.create_topics([TopicSpec(dead_letters, 1)])
    wanted = [name for name in external_topics(graph) if name not in there]
    sizes = [len(there[name].partitions) for name in external_topics(graph) if name in there]
    admin.create_topics(TopicSpec(name, max([partitions, *sizes])) for name in wanted)


def private_broker(graph: Graph, config: StreamsConfig) -> str:
    """Start the broker of this process, and create the program's topics there."""
    servers = shared_broker().bootstrap_servers
    partitions, letters = config[NUM_STREAM_THREADS], config[DEAD_LETTER_TOPIC]
    make_topics(Admin({"bootstrap.servers": servers}), graph, partitions, letters)
    return servers


def external_topics(graph: Graph) -> list[str]:
    """Return the topics of the graph that are not internal, sources first."""
    sources = [
        topic
        for node in graph.nodes.values()
        if isinstance(node, Source)
        for topic in node.topics
        if topic not in graph.internal_topics
    ]
    sinks = [
        node.topic
        for node in graph.nodes.values()
        if isinstance(node, Sink)
        and not isinstance(node, DriverSink)
        and node.topic is not None
        and node.topic not in graph.internal_topics
    ]
    return list(dict.fromkeys((*sources, *sinks)))


def check_internal_topics(specs: Iterable[TopicSpec], existing: Mapping[str, Topic]) -> None:
    """Refuse internal topics of another size: keys would be in the wrong partitions."""
    for spec in specs:
        found = existing.get(spec.name)
        if found is not None and len(found.partitions) != spec.partitions:
            raise TopologyError(
                "partition-count-changed",
                f"internal topic {spec.name!r} has {len(found.partitions)} partitions, but the"
                f" application's input now asks for {spec.partitions}",
                fix="keys with state cannot move to other partitions: copy the input to a topic of"
                " the old size, or give the application another application.id, or reset it with"
                " penstock reset",
            )


def repartition_config(config: StreamsConfig) -> dict[str, str]:
    """Return the settings of repartition topics: as in Java, they keep records for ever."""
    settings = {
        "cleanup.policy": "delete",
        "message.timestamp.type": "CreateTime",
        "retention.ms": "-1",
        "segment.bytes": str(50 * 1024 * 1024),
        "max.message.bytes": str(LARGEST_BUNDLE),
    }
    return settings | config.with_prefix("topic.")


def internal_topics(plan: Plan, config: StreamsConfig) -> list[TopicSpec]:
    """Return the batch log, repartition topics and changelogs, with their settings."""
    application = config[APPLICATION_ID]
    replication = config[REPLICATION_FACTOR]
    specs = [
        TopicSpec(
            batches_topic(application), 1, replication,
            {
                "cleanup.policy": "compact",
                "segment.bytes": str(16 * 1024 * 1024),
                "message.timestamp.type": "LogAppendTime",
            },
        )
    ]  # fmt: skip
    repartition = repartition_config(config)
    for stage in range(plan.stages):
        for topic in dict.fromkeys(topic for topic, _ in plan.internal_of(stage)):
            name, size = f"{application}-{topic}", plan.partitions[topic]
            specs.append(TopicSpec(name, size, replication, repartition, _ANY_TIME))
    for part in plan.subtopologies.values():
        for node in part.nodes:
            sink = plan.graph.nodes[node]
            if isinstance(sink, DriverSink):
                name, tasks = rows_topic(application, sink), plan.tasks(part.id)
                specs.append(TopicSpec(name, tasks, replication, repartition, _ANY_TIME))
        for store in part.stores(plan.graph):
            spec = plan.graph.stores.get(store)
            if spec is None or not spec.logging or store in plan.graph.source_changelogs:
                continue
            specs.append(
                TopicSpec(
                    f"{application}-{store}-changelog",
                    plan.tasks(part.id),
                    replication,
                    changelog_config(spec, config),
                    _ANY_TIME,
                )
            )
    return specs


def is_windowed(spec: StoreSpec) -> bool:
    return spec.kind in _WINDOWED


def changelog_config(spec: StoreSpec, config: StreamsConfig) -> dict[str, str]:
    """Return the settings of a changelog: Java's, then the user's ``topic.``, then the store's."""
    settings = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}
    extra = config[WINDOW_CHANGELOG_RETENTION_MS]
    if is_windowed(spec):
        settings["cleanup.policy"] = "compact,delete"
        settings["retention.ms"] = str(min(spec.retention_ms + extra, MAX_LONG))
    elif spec.kind is StoreKind.VERSIONED_KEY_VALUE:
        lag_ms = min(spec.history_retention_ms + extra, MAX_LONG)
        settings["min.compaction.lag.ms"] = str(lag_ms)
    return settings | config.with_prefix("topic.") | dict(spec.changelog_config)
