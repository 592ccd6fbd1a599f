"""What a topology makes of history: DataFrames of its output topics and its stores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from types import TracebackType

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.errors import InvalidArgumentError
from penstock.kernel.serdes import required_serde
from penstock.kernel.settings import TaskSettings
from penstock.model.site import caller_site
from penstock.runtime.history.rows import CHANGELOG, CLOCKS, DROPPED, OTHER_TOPIC, STORE_ROW
from penstock.runtime.history.store_rows import READABLE, WINDOWED, StoreSerdes
from penstock.runtime.history.task import Work
from penstock.runtime.spark.history.header_text import as_headers
from penstock.runtime.spark.history.passes import Passes
from penstock.runtime.spark.history.values import Decoding, decoded
from penstock.runtime.spark.typed_columns import key_columns, typed_columns
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import Sink
from penstock.topology.nodes.topics.to_lake import DriverSink, ToLake
from penstock.topology.validate import nearest


class BatchResult:
    """The outputs and stores of a topology after its history, as DataFrames.

    Nothing is computed before a DataFrame is used. What several of them are made of is computed
    once and kept by Spark, until ``unpersist`` or the end of a ``with`` block.
    """

    def __init__(self, passes: Passes, settings: TaskSettings) -> None:
        self._passes = passes
        self._settings = settings
        self._graph = passes.plan.graph

    def __enter__(self) -> BatchResult:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.unpersist()

    def unpersist(self) -> None:
        """Let Spark forget what it has kept; DataFrames that are used again are computed again."""
        self._passes.unpersist()

    # Topics

    @property
    def topics(self) -> list[str]:
        """The topics that the topology writes, except those of names that a function chooses."""
        sinks = [node for node in self._graph.nodes.values() if isinstance(node, Sink)]
        own = [sink for sink in sinks if not isinstance(sink, DriverSink)]
        named = dict.fromkeys(sink.topic for sink in own if sink.topic is not None)
        return [topic for topic in named if topic not in self._graph.internal_topics]

    def __getitem__(self, topic: str) -> DataFrame:
        """Return the records of an output topic; see ``topic``."""
        return self.topic(topic)

    def topic(
        self, topic: str, *, key_type: str | None = None, value_type: str | None = None
    ) -> DataFrame:
        """Return the records of an output topic, decoded as the topology writes them.

        The columns are ``key``, ``value``, ``timestamp``, ``headers`` and ``partition``; a windowed
        key has ``window_start`` and ``window_end`` beside it. What is not text, a number, a
        boolean or bytes becomes JSON text. The rows of ``to_lake`` have the columns of its table,
        but for ``sequence``; present rows are those at the end.

        Args:
            topic: A topic that the topology writes, or a table of ``to_lake``.
            key_type: The Spark type of keys that are JSON text, such as ``"struct<id:bigint>"``.
            value_type: The same for values.
        """
        sink = self._sink(topic)
        if isinstance(sink, DriverSink):
            return self._rows_of(
                replace(
                    sink,
                    key_type=key_type or sink.key_type,
                    value_type=value_type or sink.value_type,
                )
            )
        what, defaults = f"sink node {sink.name!r}", self._settings.defaults
        how = Decoding(
            topic,
            required_serde(sink.key_serde, defaults, "key", what, sink.site),
            required_serde(sink.value_serde, defaults, "value", what, sink.site),
        )
        columns: list[Column | str] = [
            "key", "value", sf.timestamp_millis("timestamp").alias("timestamp"),
            as_headers(sf.col("headers")).alias("headers"),
            sf.col("task").alias("partition"),
        ]  # fmt: skip
        frame = self._of_topic(topic).select(*columns)
        return decoded(frame, how, key_type=key_type, value_type=value_type)

    def _rows_of(self, sink: DriverSink) -> DataFrame:
        """Return the rows of ``to_lake`` with the columns of its table, but for ``sequence``."""
        found = self._of_topic(str(sink.topic))
        partition = sf.col("task").alias("partition")
        order = sf.struct("at", "tie", "source", "seq").alias("order")
        rows = found.select(*typed_columns(sink), partition, order)
        if isinstance(sink, ToLake) and sink.has_present_rows:
            columns = [name for name in rows.columns if name != "order"]
            last = sf.max_by(sf.struct(*columns), "order").alias("last")
            newest = rows.groupBy("partition", *key_columns(sink)).agg(last).select("last.*")
            return newest.where(sf.col("value").isNotNull())
        return rows.drop("order")

    def raw(self, topic: str) -> DataFrame:
        """Return the records of an output topic as bytes, with their order.

        The columns are ``key``, ``value``, ``timestamp``, ``headers``, ``partition`` and ``order``.
        Records of one partition that are sorted by ``order`` are as they would be in the topic.
        """
        order = sf.struct("at", "tie", "source", "seq").alias("order")
        columns: list[Column | str] = [
            "key", "value", sf.timestamp_millis("timestamp").alias("timestamp"),
            as_headers(sf.col("headers")).alias("headers"),
            sf.col("task").alias("partition"), order,
        ]  # fmt: skip
        return self._of_topic(topic).select(*columns)

    # Stores

    @property
    def stores(self) -> list[str]:
        """The stores whose rows the program can read."""
        return [name for name, spec in self._specs.items() if spec.kind in READABLE]

    def store(
        self, store: str, *, key_type: str | None = None, value_type: str | None = None
    ) -> DataFrame:
        """Return the rows of a store at the end of the history.

        The columns are ``key``, ``value``, ``timestamp`` if rows have one, and ``partition``. Rows
        of windows and sessions have ``window_start`` and ``window_end``, versions ``valid_from``
        and ``valid_to``, all in milliseconds.

        Args:
            store: The name of a store.
            key_type: The Spark type of keys that are JSON text.
            value_type: The same for values.
        """
        spec = self._spec(store)
        serdes = StoreSerdes.of(spec, self._settings)
        frame = self._rows(STORE_ROW, store).select("key", "value", *_store_columns(spec))
        how = Decoding(serdes.topic, serdes.key, serdes.value)
        return decoded(frame, how, key_type=key_type, value_type=value_type)

    @property
    def dropped(self) -> DataFrame:
        """How many records each node dropped: ``node``, ``reason`` and ``records``."""
        rows = self._rows(DROPPED).select(
            sf.col("name").alias("node"), sf.col("key").cast("string").alias("reason"), "seq"
        )
        return rows.groupBy("node", "reason").agg(sf.sum("seq").alias("records"))

    def changelog(self, store: str) -> DataFrame:
        """Return what the changelog of a store would hold: the last record of each key.

        Headers are JSON, as ``penstock.runtime.history.rows`` has them.
        """
        found = self._rows(CHANGELOG, store)
        columns = ["key", "value", "timestamp", "headers", "task", "seq"]
        if self._specs[store].kind is StoreKind.VERSIONED_KEY_VALUE:
            return found.select(*columns)
        newest = found.groupBy("task", "key").agg(
            sf.max_by(sf.struct("value", "timestamp", "headers", "seq"), "seq").alias("last")
        )
        last = newest.select("task", "key", "last.*").select(*columns)
        return last.where(sf.col("value").isNotNull())

    @property
    def clocks(self) -> DataFrame:
        """The clocks of every task as JSON: ``task`` and ``clocks``."""
        value = sf.col("value").cast("string").alias("clocks")
        return self._rows(CLOCKS).select(sf.col("name").alias("task"), value)

    # Inside

    @property
    def _specs(self) -> dict[str, StoreSpec]:
        shared = {name: store.spec for name, store in self._graph.global_stores.items()}
        return dict(self._graph.stores) | shared

    def _spec(self, store: str) -> StoreSpec:
        if store not in self.stores:
            raise InvalidArgumentError(
                "unknown-store",
                f"the topology has no state store {store!r}{nearest(store, self.stores)}",
                fix=f"name one of: {', '.join(self.stores) or 'none has rows of the program'}",
                at=caller_site(),
            )
        if not any(work.wants(store) for work in self._passes.works):
            raise _not_asked_for("store", store)
        return self._specs[store]

    def _sink(self, topic: str) -> Sink:
        sinks = [node for node in self._graph.nodes.values() if isinstance(node, Sink)]
        for sink in sinks:
            if sink.topic == topic:
                return sink
        for sink in sinks:
            if sink.topic is None:
                return sink
        raise InvalidArgumentError(
            "unknown-topic",
            f"the topology does not write topic {topic!r}{nearest(topic, self.topics)}",
            fix=f"name one of: {', '.join(self.topics) or 'it writes none'}",
            at=caller_site(),
        )

    def _of_topic(self, topic: str) -> DataFrame:
        self._sink(topic)
        works = self._passes.works
        parts = [self._target(work, topic) for work in works if topic in work.targets]
        if not parts and topic in self.topics:
            raise _not_asked_for("topic", topic)
        return _together(parts) if parts else self._rows(OTHER_TOPIC, topic)

    def _target(self, work: Work, topic: str) -> DataFrame:
        target = work.targets.index(topic)
        return self._passes.frame(work.run.number).where(sf.col("target") == target)

    def _rows(self, kind: int, name: str | None = None) -> DataFrame:
        """Return the rows of a kind of all passes that may have some."""
        works = [work for work in self._passes.works if self._may_have(work, kind, name)]
        wanted = sf.col("target") == kind
        if name is not None:
            wanted = wanted & (sf.col("name") == name)
        return _together([self._passes.frame(work.run.number).where(wanted) for work in works])

    def _may_have(self, work: Work, kind: int, name: str | None) -> bool:
        if not work.run.is_last:
            return False
        if kind in (STORE_ROW, CHANGELOG) and name in self._graph.stores:
            return name in work.run.part.stores(self._graph)
        return work.run.is_global == (kind == STORE_ROW)


def _store_columns(spec: StoreSpec) -> list[Column]:
    columns: list[Column] = []
    if spec.kind in WINDOWED:
        columns += [sf.col("at").alias("window_start"), sf.col("tie").alias("window_end")]
    if spec.kind is StoreKind.VERSIONED_KEY_VALUE:
        columns += [sf.col("at").alias("valid_from"), sf.col("tie").alias("valid_to")]
    if spec.kind in (StoreKind.TIMESTAMPED_KEY_VALUE, StoreKind.TIMESTAMPED_WINDOW):
        columns.append(sf.timestamp_millis("timestamp").alias("timestamp"))
    return [*columns, sf.col("task").alias("partition")]


def _together(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionByName, frames)


def _not_asked_for(what: str, name: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "not-asked-for",
        f"{what} {name!r} is not among the results that run_batch was asked for",
        fix=f"add {name!r} to {what}s=…, or leave {what}s out",
        at=caller_site(),
    )
