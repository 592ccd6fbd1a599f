"""``StreamsBuilder``, the start of every program. How it builds: ``dsl.plan.build``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from penstock.config import StreamsConfig
from penstock.dsl.faces.global_ktable import GlobalKTable
from penstock.dsl.faces.kstream import KStream
from penstock.dsl.faces.ktable import KTable
from penstock.dsl.generics import K, SerdeLike, V
from penstock.dsl.operators.processors.global_store import add_global_store, add_state_store
from penstock.dsl.operators.topics.source import Topics, stream_from
from penstock.dsl.operators.topics.table_source import global_table_from, table_from
from penstock.dsl.options.java_arguments import names_options
from penstock.dsl.options.naming import Named, name_of
from penstock.dsl.options.stream_options import Consumed, options_of
from penstock.dsl.plan.build import build_graph, store_type_in
from penstock.dsl.plan.logical import Faces, LogicalGraph
from penstock.dsl.plan.materialize import StoreOptions, materialized_of
from penstock.model.former_names import one_spelling
from penstock.processor.functions import TimestampExtractor
from penstock.state.spec import StoreSpec
from penstock.topology.topology import Topology


@one_spelling
@names_options
class StreamsBuilder:
    """Collects streams and tables, and builds the topology of all of them.

    ``config`` has the settings that the operators need: ``dsl.store.suppliers.class`` and
    ``ensure.explicit.internal.resource.naming``. All others can be given to ``build``.

    >>> builder = StreamsBuilder()
    >>> builder.stream("words", value=str).filter(lambda key, word: word).to("copies")
    >>> print(builder.build().describe())
    Topologies:
       Sub-topology: 0
        Source: KSTREAM-SOURCE-0000000000 (topics: [words])
          --> KSTREAM-FILTER-0000000001
        Processor: KSTREAM-FILTER-0000000001 (stores: [])
          --> KSTREAM-SINK-0000000002
          <-- KSTREAM-SOURCE-0000000000
        Sink: KSTREAM-SINK-0000000002 (topic: copies)
          <-- KSTREAM-FILTER-0000000001
    <BLANKLINE>
    <BLANKLINE>
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self._config = StreamsConfig.of(config)
        faces = Faces(stream=KStream, table=KTable)
        self._graph = LogicalGraph(faces, store_type_in(self._config))

    @overload
    def stream(
        self,
        topics: Topics,
        consumed: str | None = None,
        *,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: str | None = None,
        name: str | Named | None = None,
    ) -> KStream[str, str]: ...
    @overload
    def stream(
        self,
        topics: Topics,
        consumed: Consumed[K, V] | str | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: str | None = None,
        name: str | Named | None = None,
    ) -> KStream[K, V]: ...
    def stream(
        self,
        topics: Topics,
        consumed: Consumed[K, V] | str | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: str | None = None,
        name: str | Named | None = None,
    ) -> KStream[K, V]:
        """Read topics as a stream of independent records.

        Args:
            topics: A topic, several topics, or a pattern that topics must match.
            consumed: How to read them, as an option object; a plain string names the source.
            key: Serde of the keys: a serde, a Python type, or the name of a serde.
            value: Serde of the values.
            timestamp_extractor: ``(record, partition_time)`` to the record's event time.
            offset_reset: Where to start without committed offsets: ``"earliest"``, ``"latest"``.
            name: Name of the source.
        """
        options = options_of(
            Consumed,
            consumed,
            key=key,
            value=value,
            timestamp_extractor=timestamp_extractor,
            offset_reset=offset_reset,
            name=name_of(name),
        )
        return KStream(stream_from(self._graph, topics, options))

    @overload
    def table(
        self,
        topic: str,
        consumed: str | None = None,
        materialized: StoreOptions | None = None,
        *,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: str | None = None,
        name: str | Named | None = None,
    ) -> KTable[str, str]: ...
    @overload
    def table(
        self,
        topic: str,
        consumed: Consumed[K, V] | str | None = None,
        materialized: StoreOptions | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: str | None = None,
        name: str | Named | None = None,
    ) -> KTable[K, V]: ...
    def table(
        self,
        topic: str,
        consumed: Consumed[K, V] | str | None = None,
        materialized: StoreOptions | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: str | None = None,
        name: str | Named | None = None,
    ) -> KTable[K, V]:
        """Read a topic as a table with the last value of each key. None deletes the key.

        Args:
            topic: The topic; records without a key are dropped.
            consumed: How to read it, as an option object; a plain string names the table.
            materialized: Options of the store; a plain string is its name. Without a name, there
                is a store only if an operator needs one.
            key: Serde of the keys: a serde, a Python type, or the name of a serde.
            value: Serde of the values.
            timestamp_extractor: ``(record, partition_time)`` to the record's event time.
            offset_reset: Where to start without committed offsets: ``"earliest"``, ``"latest"``.
            name: Name of the table's processor.
        """
        options = options_of(
            Consumed,
            consumed,
            key=key,
            value=value,
            timestamp_extractor=timestamp_extractor,
            offset_reset=offset_reset,
            name=name_of(name),
        )
        return KTable(table_from(self._graph, topic, options, materialized_of(materialized)))

    def global_table(
        self,
        topic: str,
        consumed: Consumed[K, V] | str | None = None,
        materialized: StoreOptions | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        name: str | Named | None = None,
    ) -> GlobalKTable[K, V]:
        """Read a topic as a table. Every instance has the rows of all partitions.

        Arguments are those of ``table``. The topic is also the changelog of the store.
        """
        options = options_of(
            Consumed,
            consumed,
            key=key,
            value=value,
            timestamp_extractor=timestamp_extractor,
            name=name_of(name),
        )
        kept = materialized_of(materialized)
        return GlobalKTable(global_table_from(self._graph, topic, options, kept))

    def add_state_store(self, store: StoreSpec) -> StreamsBuilder:
        """Add a store that processors can use by name."""
        add_state_store(self._graph, store)
        return self

    def add_global_store(
        self,
        store: StoreSpec,
        topic: str,
        consumed: Consumed[Any, Any] | str | None,
        processor: Any,
    ) -> StreamsBuilder:
        """Add a store that every task can read. ``processor`` fills it from a topic.

        The processor writes each record to the store and forwards nothing.
        """
        add_global_store(self._graph, store, topic, options_of(Consumed, consumed), processor)
        return self

    def build(self, config: Mapping[str, Any] | None = None) -> Topology:
        """Build the topology, with the optimizations of ``topology.optimization``.

        Nothing is started, and no connection is opened. The builder can be used again.
        """
        merged = StreamsConfig({**self._config, **(config or {})})
        return Topology._from_builder(build_graph(self._graph, merged))
