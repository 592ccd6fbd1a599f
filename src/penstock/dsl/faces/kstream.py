"""``KStream``. Each method calls the file of its operator in ``dsl.operators``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Unpack, overload

from penstock.dsl.faces.global_ktable import GlobalKTable
from penstock.dsl.faces.kgrouped_stream import KGroupedStream
from penstock.dsl.faces.older_operators import OLDER_OPERATORS, older_operator
from penstock.dsl.generics import K2, V2, K, KOther, SerdeLike, V, VOther, VOut
from penstock.dsl.operators.aggregations.group_by import (
    group_stream_by,
    group_stream_by_key,
    grouping_options,
)
from penstock.dsl.operators.joins.stream_joins import JoinArguments, join_stream
from penstock.dsl.operators.processors.process import process_stream, process_stream_values
from penstock.dsl.operators.streams.branch import BranchedKStream
from penstock.dsl.operators.streams.deduplicate import deduplicate_stream
from penstock.dsl.operators.streams.filter import filter_stream
from penstock.dsl.operators.streams.flat_map import flat_map_stream
from penstock.dsl.operators.streams.flat_map_values import flat_map_stream_values
from penstock.dsl.operators.streams.map import map_stream
from penstock.dsl.operators.streams.map_values import map_stream_values
from penstock.dsl.operators.streams.map_values_async import CallOptions, map_stream_values_async
from penstock.dsl.operators.streams.merge import merge_streams
from penstock.dsl.operators.streams.peek import for_each_record, peek_stream, print_stream
from penstock.dsl.operators.streams.select_key import select_stream_key_with
from penstock.dsl.operators.topics.repartition import repartition
from penstock.dsl.operators.topics.sink import write_stream
from penstock.dsl.operators.topics.table_source import stream_to_table
from penstock.dsl.operators.topics.to_lake import stream_to_lake
from penstock.dsl.operators.topics.to_spark import stream_to_spark
from penstock.dsl.options.deduplicated import Deduplicated
from penstock.dsl.options.java_arguments import names_options
from penstock.dsl.options.join_keywords import StreamJoinKeywords, StreamsJoinKeywords
from penstock.dsl.options.join_options import Joined, StreamJoined
from penstock.dsl.options.naming import Named, name_of
from penstock.dsl.options.stream_options import (
    Grouped,
    Printed,
    Produced,
    Repartitioned,
    either,
    not_none,
    options_of,
)
from penstock.dsl.plan.materialize import StoreOptions, materialized_of
from penstock.dsl.plan.stream import Stream
from penstock.model.former_names import one_spelling, renamed
from penstock.model.record import Record
from penstock.model.time.duration import Duration
from penstock.model.windows.definitions import JoinWindows
from penstock.processor.functions import StreamPartitioner, TopicNameExtractor
from penstock.processor.processor import FixedKeyProcessor, Processor
from penstock.topology.nodes import JoinKind

if TYPE_CHECKING:
    from penstock.dsl.faces.ktable import KTable


@one_spelling
@names_options
class KStream(Generic[K, V]):
    """A stream of independent records. Its operators return new streams and tables.

    Functions take ``(key, value)``. Every operator takes a ``name`` for its processor. The name of
    a stateful operator is also part of its topics and stores. So name those operators before the
    program has state that must be kept.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __repr__(self) -> str:
        return f"KStream({self._stream.name!r})"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in OLDER_OPERATORS:
                return older_operator(self, name)
            return renamed(self, "KStream", name, {"foreach": "for_each"})

    # Records one by one.

    @overload
    def filter(
        self, fn: Callable[[K, V], bool], name: str | Named | None = None
    ) -> KStream[K, V]: ...
    @overload
    def filter(
        self,
        fn: Callable[..., Any],
        name: str | Named | None = None,
        *,
        batch: Literal[True],
    ) -> KStream[K, V]: ...
    def filter(
        self,
        fn: Callable[..., Any],
        name: str | Named | None = None,
        *,
        batch: bool = False,
    ) -> KStream[K, V]:
        """Keep the records for which ``fn(key, value)`` holds.

        With ``batch=True`` it takes whole columns, see ``map_values``: of values, or of keys and
        values.
        """
        return KStream(filter_stream(self._stream, fn, name_of(name), negate=False, batch=batch))

    @overload
    def filter_not(
        self, fn: Callable[[K, V], bool], name: str | Named | None = None
    ) -> KStream[K, V]: ...
    @overload
    def filter_not(
        self,
        fn: Callable[..., Any],
        name: str | Named | None = None,
        *,
        batch: Literal[True],
    ) -> KStream[K, V]: ...
    def filter_not(
        self,
        fn: Callable[..., Any],
        name: str | Named | None = None,
        *,
        batch: bool = False,
    ) -> KStream[K, V]:
        """Drop the records for which ``fn(key, value)`` holds. See ``filter``."""
        return KStream(filter_stream(self._stream, fn, name_of(name), negate=True, batch=batch))

    @overload
    def map(
        self, fn: Callable[[K, V], tuple[K2, V2]], name: str | Named | None = None
    ) -> KStream[K2, V2]: ...
    @overload
    def map(
        self,
        fn: Callable[[Any, Any], tuple[Any, Any]],
        name: str | Named | None = None,
        *,
        batch: Literal[True],
    ) -> KStream[Any, Any]: ...
    def map(
        self, fn: Callable[..., Any], name: str | Named | None = None, *, batch: bool = False
    ) -> Any:
        """Replace key and value by the pair ``fn(key, value)``.

        The key may change, so a later grouping or join needs a repartition topic. Use
        ``map_values`` if only the value changes. With ``batch=True``, ``fn`` takes a column of keys
        and one of values, see ``map_values``, and returns two columns.
        """
        return KStream(map_stream(self._stream, fn, name_of(name), batch=batch))

    @overload
    def map_values(
        self, fn: Callable[[V], V2], name: str | Named | None = None
    ) -> KStream[K, V2]: ...
    @overload
    def map_values(
        self, fn: Callable[[K, V], V2], name: str | Named | None = None
    ) -> KStream[K, V2]: ...
    @overload
    def map_values(
        self, fn: Callable[..., Any], name: str | Named | None = None, *, batch: Literal[True]
    ) -> KStream[K, Any]: ...
    def map_values(
        self, fn: Callable[..., Any], name: str | Named | None = None, *, batch: bool = False
    ) -> Any:
        """Replace the value by ``fn(value)`` or ``fn(key, value)``, whichever ``fn`` takes.

        With ``batch=True``, ``fn`` takes whole columns and returns a column with one result per
        record, for models above all. A type hint says what a column is: ``numpy.ndarray``,
        ``pyarrow.Array``, ``pandas.Series``, ``polars.Series``, or, for values that are objects,
        ``pandas.DataFrame``, ``polars.DataFrame``, ``pyarrow.Table``. Without a hint it is a list.
        The result of a record must not depend on the other records: a column has some thousand
        records of a backlog, and a single one if the task runs record by record.
        """
        return KStream(map_stream_values(self._stream, fn, name_of(name), batch=batch))

    @overload
    def map_values_async(
        self,
        fn: Callable[[V], Awaitable[V2]],
        *,
        concurrency: int = 16,
        timeout: Duration = "30s",
        retries: int = 0,
        backoff: Duration = "100ms",
        name: str | Named | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def map_values_async(
        self,
        fn: Callable[..., Any],
        *,
        concurrency: int = 16,
        timeout: Duration = "30s",
        retries: int = 0,
        backoff: Duration = "100ms",
        name: str | Named | None = None,
    ) -> KStream[K, Any]: ...
    def map_values_async(
        self,
        fn: Callable[..., Any],
        *,
        concurrency: int = 16,
        timeout: Duration = "30s",
        retries: int = 0,
        backoff: Duration = "100ms",
        name: str | Named | None = None,
    ) -> Any:
        """Replace the value by what a slow call answers, with several calls at the same time.

        ``fn`` is a coroutine function, or a plain function, which then runs in a thread. It takes
        ``(value)`` or ``(key, value)``. Results keep the order of their records and are committed
        with them. A batch that runs again makes its calls again, so they must be safe to repeat.

        Args:
            fn: The call to an external service.
            concurrency: How many calls of a task are under way at most.
            timeout: How long a call may take; then it has failed.
            retries: How often a call that has failed is repeated. After that, the processing
                exception handler decides.
            backoff: The pause before the first repetition; it doubles each time.
            name: Name of the processor.
        """
        options = CallOptions(
            concurrency=concurrency, timeout=timeout, retries=retries, backoff=backoff
        )
        return KStream(map_stream_values_async(self._stream, fn, options, name_of(name)))

    def flat_map(
        self, fn: Callable[[K, V], Iterable[tuple[K2, V2]]], name: str | Named | None = None
    ) -> KStream[K2, V2]:
        """Replace a record by the (key, value) pairs that ``fn(key, value)`` yields."""
        return KStream(flat_map_stream(self._stream, fn, name_of(name)))

    @overload
    def flat_map_values(
        self, fn: Callable[[V], Iterable[V2]], name: str | Named | None = None
    ) -> KStream[K, V2]: ...
    @overload
    def flat_map_values(
        self, fn: Callable[[K, V], Iterable[V2]], name: str | Named | None = None
    ) -> KStream[K, V2]: ...
    @overload
    def flat_map_values(
        self, fn: Callable[..., Any], name: str | Named | None = None, *, batch: Literal[True]
    ) -> KStream[K, Any]: ...
    def flat_map_values(
        self, fn: Callable[..., Any], name: str | Named | None = None, *, batch: bool = False
    ) -> Any:
        """Replace a record by one per value of ``fn(value)`` or ``fn(key, value)``, same key.

        With ``batch=True``, ``fn`` takes whole columns, see ``map_values``, and returns a list of
        values for each record.
        """
        return KStream(flat_map_stream_values(self._stream, fn, name_of(name), batch=batch))

    def select_key(
        self,
        fn: Callable[[K, V], K2],
        name: str | Named | Repartitioned[K2, V] | None = None,
    ) -> KStream[K2, V]:
        """Replace the key by ``fn(key, value)``.

        With ``Repartitioned`` instead of a name, the stream is repartitioned at once. Otherwise it
        is repartitioned only if a later operator needs it.
        """
        return KStream(select_stream_key_with(self._stream, fn, name))

    def deduplicate_by_key(
        self,
        interval: Duration,
        deduplicated: Deduplicated[K, Any, V] | str | None = None,
        *,
        name: str | Named | None = None,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
    ) -> KStream[K, V]:
        """Forward the first record of each key, and drop others until the interval has passed.

        Records without a key are all forwarded. The interval is measured in stream time.

        Args:
            interval: How long a key is remembered after its first record.
            deduplicated: Name, store name and serdes as an option object, or just the name.
            name: The name of the processor and of its store.
            key: Serde of the keys; by default, that of the stream.
            value: Serde of the values, if the stream has to be repartitioned.
        """
        options = options_of(
            Deduplicated, deduplicated, name=name_of(name), key=key,
            value=value,
        )  # fmt: skip
        return KStream(deduplicate_stream(self._stream, interval, options))

    def deduplicate_by_key_value(
        self,
        fn: Callable[[K, V], object],
        interval: Duration,
        deduplicated: Deduplicated[K, Any, V] | str | None = None,
        *,
        name: str | Named | None = None,
        key: SerdeLike[K] | None = None,
        id: SerdeLike[Any] | None = None,  # noqa: A002
        value: SerdeLike[V] | None = None,
    ) -> KStream[K, V]:
        """Forward the first record of each key and id, and drop others within the interval.

        Records without a key or without an id are all forwarded. Equal ids under different keys
        are not duplicates.

        Args:
            fn: ``(key, value)`` to the id.
            interval: How long a key and id are remembered after their first record.
            deduplicated: Name, store name and serdes as an option object, or just the name.
            name: The name of the processor and of its store.
            key: Serde of the keys; by default, that of the stream.
            id: Serde of the ids; by default, JSON.
            value: Serde of the values, if the stream has to be repartitioned.
        """
        not_none(fn, "the function that finds the id")
        options = options_of(
            Deduplicated, deduplicated, name=name_of(name), key=key,
            id=id, value=value,
        )  # fmt: skip
        return KStream(deduplicate_stream(self._stream, interval, options, fn))

    def peek(self, fn: Callable[[K, V], object], name: str | Named | None = None) -> KStream[K, V]:
        """Call ``fn(key, value)`` for each record, and forward the record unchanged."""
        return KStream(peek_stream(self._stream, fn, name_of(name)))

    def for_each(self, fn: Callable[[K, V], object], name: str | Named | None = None) -> None:
        """Call ``fn(key, value)`` for each record. This ends the stream."""
        for_each_record(self._stream, fn, name_of(name))

    def to_spark(
        self,
        fn: Callable[[Any, int], object],
        schema: Any = None,
        name: str | Named | None = None,
    ) -> None:
        """Call ``fn(dataframe, batch_id)`` again and again, to write Parquet, Delta, JDBC, etc.

        The DataFrame has the columns ``key``, ``value`` and ``timestamp``, and ``window_start`` and
        ``window_end`` for windowed keys. After a crash, the same rows come with the same id again.
        So a function that skips ids that it has written is exactly once.

        Args:
            fn: Called on the driver with the rows that were committed since its last call. The id
                is the number of the cut up to which they go. No batch waits for the function.
            schema: The type of ``value``: DDL text, a dataclass or a Python type. By default,
                it follows from the stream's serde. Without a known type, text stays text, and
                other values are JSON text.
            name: The name of the node.
        """
        stream_to_spark(self._stream, fn, schema, name_of(name))

    def to_lake(self, table: str, schema: Any = None, name: str | Named | None = None) -> None:
        """Append every record to a table of a lakehouse, exactly once.

        The table has the columns of ``to_spark``, and ``partition`` and ``sequence``: the order of
        the rows of one partition. It is created if it is not there. What has been committed since
        the last time becomes one version of the table, every ``penstock.lake.commit.interval.ms``.

        Args:
            table: The format and the place of the table: ``"delta:/lake/orders"``, or
                ``"iceberg:shop.orders"`` for a table of a catalog.
            schema: The type of ``value``: DDL text, a dataclass or a Python type. By default,
                it follows from the stream's serde. Without a known type, text stays text, and
                other values are JSON text.
            name: The name of the node.
        """
        stream_to_lake(self._stream, table, schema, name_of(name))

    def print(
        self,
        printed: Printed[K, V] | str | None = None,
        *,
        label: str | None = None,
        file: str | Path | None = None,
        fn: Callable[[K, V], str] | None = None,
        name: str | Named | None = None,
    ) -> None:
        """Print each record as ``[label]: key, value``. This ends the stream.

        Args:
            printed: The same as an option object, or just the label.
            label: The start of each line; by default, the name of the stream's processor.
            file: The file to write; by default, standard output.
            fn: ``(key, value)`` to the text that is printed.
            name: Name of the processor.
        """
        if isinstance(printed, str):
            printed, label = None, either(label, printed, "the first argument and label")
        options = options_of(Printed, printed, label=label, file=file, fn=fn, name=name_of(name))
        print_stream(self._stream, options)

    # Topics.

    def to(
        self,
        topic: str | TopicNameExtractor,
        produced: Produced[K, V] | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        partitioner: StreamPartitioner | None = None,
        name: str | Named | None = None,
    ) -> None:
        """Write each record to a topic. This ends the stream.

        Args:
            topic: The topic, or ``(key, value, context)`` to the topic of each record.
            produced: Serdes, partitioner and name as an option object.
            key: Serde of the keys; by default, that of the stream.
            value: Serde of the values; by default, that of the stream.
            partitioner: ``(topic, key, value, partitions)`` to the partitions to write to.
            name: Name of the sink.
        """
        options = options_of(
            Produced,
            produced,
            key=key,
            value=value,
            partitioner=partitioner,
            name=name_of(name),
        )
        write_stream(self._stream, topic, options)

    def repartition(
        self,
        repartitioned: Repartitioned[K, V] | str | None = None,
        *,
        name: str | Named | None = None,
        num_partitions: int | None = None,
        partitioner: StreamPartitioner | None = None,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
    ) -> KStream[K, V]:
        """Send the stream through an internal topic, so that one task has all records of a key.

        Args:
            repartitioned: The same as an option object, or just the name.
            name: The prefix of the topic's name.
            num_partitions: The number of partitions of the topic; by default, as the input.
            partitioner: ``(topic, key, value, partitions)`` to the partitions to write to.
            key: Serde of the topic's keys; by default, the configured one.
            value: Serde of the topic's values; by default, that of the stream.
        """
        options = options_of(
            Repartitioned,
            repartitioned,
            name=name_of(name),
            num_partitions=num_partitions,
            partitioner=partitioner,
            key=key,
            value=value,
        )
        return KStream(repartition(self._stream, options))

    # Several streams.

    def merge(self, other: KStream[K, V], name: str | Named | None = None) -> KStream[K, V]:
        """Merge two streams. Records of different streams have no order."""
        not_none(other, "the other stream")
        return KStream(merge_streams(self._stream, other._stream, name_of(name)))

    def split(self, name: str | Named | None = None) -> BranchedKStream[K, V]:
        """Start to split the stream: call ``.branch(…)`` per branch, then ``.default_branch()``.

        The result is a dict of streams by name: the name of the split, followed by the name of the
        branch or, without a name, by its number (0 for the default branch).
        """
        return BranchedKStream(self._stream, name_of(name))

    # Tables and groups.

    def to_table(
        self,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
    ) -> KTable[K, V]:
        """Make a table: each record is the new value of its key, and None deletes the key.

        Args:
            materialized: Options of the store; a plain string is its name.
            name: Name of the processor.
            key: Serde of the store's keys.
            value: Serde of the store's values.
        """
        options = materialized_of(
            materialized,
            key=key,
            value=value,
        )
        table = stream_to_table(self._stream, options, name_of(name))
        return self._stream.graph.faces.table(table)

    def group_by_key(
        self,
        grouped: Grouped[K, V] | str | None = None,
        *,
        name: str | Named | None = None,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
    ) -> KGroupedStream[K, V]:
        """Group records by their key, to aggregate them.

        Args:
            grouped: Name and serdes as an option object, or just the name.
            name: The prefix of the repartition topic, if one is needed.
            key: Serde of the keys; by default, that of the stream.
            value: Serde of the values; by default, that of the stream.
        """
        options = grouping_options(
            self._stream, grouped, keeps_key=True, name=name_of(name),
            key=key,
            value=value,
        )  # fmt: skip
        return KGroupedStream(group_stream_by_key(self._stream, options))

    def group_by(
        self,
        fn: Callable[[K, V], K2],
        grouped: Grouped[K2, V] | str | None = None,
        *,
        name: str | Named | None = None,
        key: SerdeLike[K2] | None = None,
        value: SerdeLike[V] | None = None,
    ) -> KGroupedStream[K2, V]:
        """Group records by a new key ``fn(key, value)``. This needs a repartition topic.

        Args:
            fn: Returns the key to group by.
            grouped: Name and serdes as an option object, or just the name.
            name: The name of the processor and the prefix of the repartition topic.
            key: Serde of the new keys.
            value: Serde of the values; by default, that of the stream.
        """
        options = grouping_options(
            self._stream, grouped, keeps_key=False, name=name_of(name),
            key=key,
            value=value,
        )  # fmt: skip
        return KGroupedStream(group_stream_by(self._stream, fn, options))

    # Joins.

    @overload
    def join(
        self,
        other: KStream[K, VOther] | KTable[K, VOther] | GlobalKTable[KOther, VOther],
        joiner: Callable[[V, VOther], VOut],
        windows: JoinWindows | None = None,
        **keywords: Unpack[StreamJoinKeywords[K, V, KOther, VOther]],
    ) -> KStream[K, VOut]: ...
    @overload
    def join(
        self,
        other: KStream[K, VOther] | KTable[K, VOther] | GlobalKTable[KOther, VOther],
        joiner: Callable[[K, V, VOther], VOut],
        windows: JoinWindows | None = None,
        **keywords: Unpack[StreamJoinKeywords[K, V, KOther, VOther]],
    ) -> KStream[K, VOut]: ...
    def join(
        self,
        other: KStream[K, VOther] | KTable[K, VOther] | GlobalKTable[KOther, VOther],
        joiner: Callable[..., VOut],
        windows: JoinWindows | None = None,
        *,
        key: SerdeLike[K] | Callable[[K, V], KOther] | None = None,
        joined: Joined[K, V, VOther] | str | None = None,
        stream_joined: StreamJoined[K, V, VOther] | str | None = None,
        name: str | Named | None = None,
        value: SerdeLike[V] | None = None,
        other_value: SerdeLike[VOther] | None = None,
    ) -> KStream[K, VOut]:
        """Join with records of another stream, or with rows of a table, that have the same key.

        Args:
            other: A stream, a table, or a global table.
            joiner: ``(left, right)`` or ``(key, left, right)`` to the result's value.
            windows: The largest distance in time of two records; only for two streams.
            joined: Serdes, name and grace period of a join with a table.
            stream_joined: Serdes, names and stores of a join of two streams.
            name: The prefix of the processors and topics of the join.
            key: Serde of the keys, for repartition topics and stores; for a global table,
                ``(key, value)`` to the key to look up.
            value: Serde of this stream's values.
            other_value: Serde of the other side's values.
        """
        given = JoinArguments(
            joiner=joiner,
            windows=windows,
            key=key,
            joined=joined,
            stream_joined=stream_joined,
            name=name_of(name),
            value=value,
            other_value=other_value,
        )
        return KStream(join_stream(self._stream, JoinKind.INNER, other, given))

    @overload
    def left_join(
        self,
        other: KStream[K, VOther] | KTable[K, VOther] | GlobalKTable[KOther, VOther],
        joiner: Callable[[V, VOther | None], VOut],
        windows: JoinWindows | None = None,
        **keywords: Unpack[StreamJoinKeywords[K, V, KOther, VOther]],
    ) -> KStream[K, VOut]: ...
    @overload
    def left_join(
        self,
        other: KStream[K, VOther] | KTable[K, VOther] | GlobalKTable[KOther, VOther],
        joiner: Callable[[K, V, VOther | None], VOut],
        windows: JoinWindows | None = None,
        **keywords: Unpack[StreamJoinKeywords[K, V, KOther, VOther]],
    ) -> KStream[K, VOut]: ...
    def left_join(
        self,
        other: KStream[K, VOther] | KTable[K, VOther] | GlobalKTable[KOther, VOther],
        joiner: Callable[..., VOut],
        windows: JoinWindows | None = None,
        *,
        key: SerdeLike[K] | Callable[[K, V], KOther] | None = None,
        joined: Joined[K, V, VOther] | str | None = None,
        stream_joined: StreamJoined[K, V, VOther] | str | None = None,
        name: str | Named | None = None,
        value: SerdeLike[V] | None = None,
        other_value: SerdeLike[VOther] | None = None,
    ) -> KStream[K, VOut]:
        """Join as ``join`` does, and keep records without a partner, with None as right value.

        In a join of two streams, a record without a partner is emitted when its window closes.
        """
        given = JoinArguments(
            joiner=joiner,
            windows=windows,
            key=key,
            joined=joined,
            stream_joined=stream_joined,
            name=name_of(name),
            value=value,
            other_value=other_value,
        )
        return KStream(join_stream(self._stream, JoinKind.LEFT, other, given))

    @overload
    def outer_join(
        self,
        other: KStream[K, VOther],
        joiner: Callable[[V | None, VOther | None], VOut],
        windows: JoinWindows | None = None,
        **keywords: Unpack[StreamsJoinKeywords[K, V, VOther]],
    ) -> KStream[K, VOut]: ...
    @overload
    def outer_join(
        self,
        other: KStream[K, VOther],
        joiner: Callable[[K, V | None, VOther | None], VOut],
        windows: JoinWindows | None = None,
        **keywords: Unpack[StreamsJoinKeywords[K, V, VOther]],
    ) -> KStream[K, VOut]: ...
    def outer_join(
        self,
        other: KStream[K, VOther],
        joiner: Callable[..., VOut],
        windows: JoinWindows | None = None,
        *,
        stream_joined: StreamJoined[K, V, VOther] | str | None = None,
        name: str | Named | None = None,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        other_value: SerdeLike[VOther] | None = None,
    ) -> KStream[K, VOut]:
        """Join two streams, and keep records without a partner of both sides."""
        given = JoinArguments(
            joiner=joiner,
            windows=windows,
            key=key,
            stream_joined=stream_joined,
            name=name_of(name),
            value=value,
            other_value=other_value,
        )
        return KStream(join_stream(self._stream, JoinKind.OUTER, other, given))

    # Processors.

    @overload
    def process(
        self,
        supplier: Callable[[], Processor[K, V, K2, V2]],
        *stores: str,
        name: str | Named | None = None,
    ) -> KStream[K2, V2]: ...
    @overload
    def process(
        self,
        supplier: Callable[[Record[K, V]], Iterable[Record[K2, V2]]],
        *stores: str,
        name: str | Named | None = None,
    ) -> KStream[K2, V2]: ...
    @overload
    def process(
        self,
        supplier: Callable[[Record[K, V]], Record[K2, V2] | None],
        *stores: str,
        name: str | Named | None = None,
    ) -> KStream[K2, V2]: ...
    @overload
    def process(
        self, supplier: Any, *stores: str, name: str | Named | None = None
    ) -> KStream[Any, Any]: ...
    def process(
        self, supplier: Any, *stores: str, name: str | Named | None = None
    ) -> KStream[Any, Any]:
        """Run a processor, which may use state stores and forward any records.

        Args:
            supplier: A ``Processor`` class, a function that creates a processor, or a function of
                a record that returns or yields records. Its ``stores()``, if any, are added and
                connected.
            stores: Names of the state stores that it uses.
            name: Name of the processor.
        """
        return KStream(process_stream(self._stream, supplier, stores, name_of(name)))

    @overload
    def process_values(
        self,
        supplier: Callable[[], FixedKeyProcessor[K, V, V2]],
        *stores: str,
        name: str | Named | None = None,
    ) -> KStream[K, V2]: ...
    @overload
    def process_values(
        self, supplier: Any, *stores: str, name: str | Named | None = None
    ) -> KStream[K, Any]: ...
    def process_values(
        self, supplier: Any, *stores: str, name: str | Named | None = None
    ) -> KStream[K, Any]:
        """Run a ``FixedKeyProcessor``. It cannot change keys, so no repartition is needed.

        Arguments are those of ``process``.
        """
        return KStream(process_stream_values(self._stream, supplier, stores, name_of(name)))
