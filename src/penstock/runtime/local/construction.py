"""Functions that build the parts of the applications in this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from penstock.errors import InvalidArgumentError
from penstock.kernel.collector import Collector
from penstock.kernel.global_task import GlobalTask
from penstock.kernel.settings import TaskSettings
from penstock.kernel.stores import CollectorChangelog, Engine, TaskStores
from penstock.model.site import caller_site
from penstock.processor.handlers import LogAndContinueExceptionHandler
from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.rocks import open_rocks
from penstock.state.environment import Changelog
from penstock.state.layers.cache import RecordCache
from penstock.topology.graph import Graph
from penstock.topology.validate import nearest


def engine_in(directory: Path | None, folder: str, settings: TaskSettings) -> Engine:
    """Return the engine of a task's stores: RocksDB in a folder, or memory if there is none."""
    if directory is None:
        return lambda store: MemoryStore()
    base = directory / folder
    return lambda store: open_rocks(base / store, store, settings.configs)


def global_task(
    graph: Graph,
    settings: TaskSettings,
    collector: Collector,
    engine: Engine,
    wall_clock: Callable[[], int],
    cache: RecordCache | None = None,
) -> GlobalTask | None:
    """Return the task that keeps the global stores, or None if the topology has none."""
    if not graph.global_stores:
        return None
    stores = TaskStores(
        [store.spec for store in graph.global_stores.values()],
        settings=settings,
        engine=engine,
        changelog=lambda store: None,
        cache=cache,
    )
    # Kafka Streams' test driver skips records of global topics that cannot be decoded, whatever
    # the setting.
    settings = replace(settings, on_deserialization=LogAndContinueExceptionHandler())
    return GlobalTask(
        graph, settings=settings, collector=collector, stores=stores, wall_clock=wall_clock
    )


def global_topics(graph: Graph) -> set[str]:
    """Return the topics that fill global stores."""
    return {store.topic for store in graph.global_stores.values()}


def changelog_of(
    graph: Graph, settings: TaskSettings, collector: Collector, store: str, partition: int
) -> Changelog | None:
    """Return the changelog of a store, or None if its source topic is the changelog."""
    if store in graph.source_changelogs:
        return None
    return CollectorChangelog(collector, settings.changelog_topic(store), partition)


def is_internal_topic(graph: Graph, settings: TaskSettings, topic: str) -> bool:
    """Return whether a topic is a repartition topic or a changelog of the application."""
    prefix = f"{settings.application_id}-"
    if not topic.startswith(prefix):
        return False
    name = topic.removeprefix(prefix)
    return name in graph.internal_topics or (
        name.endswith("-changelog") and name.removesuffix("-changelog") in graph.stores
    )


def unknown_topic(topic: str, known: Iterable[str]) -> InvalidArgumentError:
    """Return the error for a record of a topic that no source reads."""
    names = sorted({*known})
    return InvalidArgumentError(
        "unknown-topic",
        f"no source of the topology reads topic {topic!r}{nearest(topic, names)}",
        fix=f"pipe into one of: {', '.join(names)}",
        at=caller_site(),
    )
