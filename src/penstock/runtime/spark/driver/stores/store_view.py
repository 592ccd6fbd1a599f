"""``streams.store(name)``: a store of a running application, over all its partitions.

Reads see the newest committed batch. If the application has placed a key itself, through a
repartition topic, Kafka's murmur2 of the serialized key says in which partition it is. Otherwise
the producer of the topic has placed it, perhaps in another way, and all partitions are asked.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa

from penstock.config import StreamsConfig
from penstock.errors import InvalidArgumentError, UnknownStoreError
from penstock.frames.arrow_types import INSTANT
from penstock.frames.entries import entries_table
from penstock.frames.frame import Tabular
from penstock.kernel.serdes import required_serde
from penstock.model.partitioning import partition_for
from penstock.model.versioned import AggregationWithHeaders, ValueAndTimestamp
from penstock.model.windows.windowed import Windowed
from penstock.processor.functions import StreamPartitioner
from penstock.query import QueryableStoreTypes, StoreQueryParameters
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.exchange.plan import Plan
from penstock.state.key_value.key_value_store import prefix_bytes
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.key_placement import is_placed
from penstock.topology.validate import nearest


class Answers(Protocol):
    """Calls a reading method of one partition of a store, wherever that partition is."""

    def query(self, store: str, partition: int, method: str, arguments: tuple[Any, ...]) -> Any: ...


_TIMESTAMPED = (StoreKind.TIMESTAMPED_KEY_VALUE, StoreKind.TIMESTAMPED_WINDOW)
_WINDOWED = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)
_OF_OPERATORS = (StoreKind.OUTER_JOIN, StoreKind.FOREIGN_KEY_SUBSCRIPTION)


class StoreView(Tabular):
    """Read-only: ``get``, ``[key]``, ``range``, ``all``, window ``fetch`` and sessions; tables.

    Values come without the timestamps that stores keep beside them; tables have them as a column.

    Args:
        is_placed: whether murmur2 of a key is known to decide its partition.
    """

    def __init__(
        self,
        spec: StoreSpec,
        partitions: int,
        config: StreamsConfig,
        answers: Answers,
        *,
        is_placed: bool = False,
    ) -> None:
        self._spec = spec
        self._is_placed = is_placed
        self._answers = answers
        self._partitions = partitions
        self._read: Sequence[int] = range(partitions)
        self._with_timestamps = False
        settings = task_settings(config)
        what = f"store {spec.name!r}"
        self._serde = required_serde(spec.key_serde, settings.defaults, "key", what)
        value = spec.value_serde
        self._value_serde = value and value.with_defaults(settings.defaults.of("value"))
        self._topic = settings.changelog_topic(spec.name)

    @staticmethod
    def open(name: str, plan: Plan, config: StreamsConfig, answers: Answers) -> StoreView:
        """Return the view of a store.

        Raises:
            UnknownStoreError: the topology has no store of this name.
        """
        graph = plan.graph
        for part in plan.subtopologies.values():
            if name in part.stores(graph) and name in graph.stores:
                return StoreView(
                    graph.stores[name],
                    plan.tasks(part.id),
                    config,
                    answers,
                    is_placed=is_placed(graph, name),
                )
        if name in graph.global_stores:
            # Every slot and every replica has a full copy, so any of them can be asked.
            return StoreView(graph.global_stores[name].spec, 1, config, answers)
        names = [*graph.stores, *graph.global_stores]
        known = ", ".join(map(repr, names)) or "none"
        raise UnknownStoreError(
            "unknown-store",
            f"the topology has no state store {name!r}{nearest(name, names)}",
            fix=f"name the store where it is made; the topology has {known}",
        )

    def answered_by(self, answers: Answers) -> StoreView:
        """Return the same view with other answers."""
        view = copy.copy(self)
        view._answers = answers
        return view

    def narrowed(self, asked: StoreQueryParameters) -> StoreView:
        """Return the view that the parameters ask for: of one partition, or with timestamps.

        Raises:
            InvalidArgumentError: the store is of another kind, or has no such partition.
        """
        wanted, kind = asked.queryable_store_type, self._spec.kind
        if not wanted.accepts(kind):
            raise InvalidArgumentError(
                "wrong-store-type",
                f"store {self.name!r} is a {kind.value} store, which {wanted.name}() does not read",
                fix=f"use {_fitting(kind)}",
            )
        view = copy.copy(self)
        view._with_timestamps = wanted.with_timestamps
        if asked.partition is not None:
            if asked.partition not in self._read:
                raise InvalidArgumentError(
                    "no-partition",
                    f"store {self.name!r} has no partition {asked.partition}",
                    fix=f"give a partition from 0 to {self._partitions - 1}",
                )
            view._read = (asked.partition,)
        return view

    @property
    def partitions(self) -> int:
        return self._partitions

    @property
    def spec(self) -> StoreSpec:
        return self._spec

    def call(self, partition: int, method: str, arguments: tuple[Any, ...]) -> Any:
        """Call a reading method of one partition, and return what the store itself returns."""
        return self._ask(partition, method, *arguments)

    @property
    def name(self) -> str:
        return self._spec.name

    def partition_of(self, key: Any, partitioner: StreamPartitioner | None = None) -> int:
        """Return the partition that a partitioner chooses for a key; the default is murmur2."""
        if partitioner is not None:
            chosen = partitioner(self._topic, key, None, self._partitions)
            if chosen is not None:
                return chosen if isinstance(chosen, int) else min(chosen)
        data = self._serde.serialize(self._topic, key) or b""
        return partition_for(data, self._partitions)

    def partitions_of(self, key: Any) -> Sequence[int]:
        """Return the partitions that may have a key, the likeliest one first."""
        first = self.partition_of(key)
        if self._is_placed and first in self._read:
            return (first,)
        return sorted(self._read, key=lambda each: each != first)

    # Key-value stores

    def get(self, key: Any, as_of: int | None = None) -> Any:
        """Return the value of a key, or None; for a versioned store also ``as_of`` a time.

        If several partitions have the key, the one that murmur2 chooses wins, then the lowest.
        """
        arguments = (key,) if as_of is None else (key, as_of)
        return self._first(key, "get", *arguments)

    def __getitem__(self, key: Any) -> Any:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: Any) -> bool:
        return self.get(key) is not None

    def range(self, start: Any = None, end: Any = None) -> Iterator[tuple[Any, Any]]:
        """Return entries from ``start`` to ``end``, both included, by serialized keys."""
        return self._merged("range", start, end)

    def reverse_range(self, start: Any = None, end: Any = None) -> Iterator[tuple[Any, Any]]:
        """Return entries from ``end`` back to ``start``, both included."""
        return self._merged("reverse_range", start, end, is_backward=True)

    def prefix_scan(self, prefix: Any, serializer: Any = None) -> Iterator[tuple[Any, Any]]:
        """Return the entries whose key bytes begin with the bytes of the prefix.

        Args:
            serializer: writes the prefix: a serde or a function; without it the store's own serde.
        """
        start = prefix_bytes(self.name, prefix, self._serde if serializer is None else serializer)
        return self._merged("prefix_scan", start, bytes)

    def all(self) -> Iterator[tuple[Any, Any]]:
        """Return all entries; those of a key-value store are in the order of serialized keys."""
        if self._spec.kind is StoreKind.SESSION:
            return self._merged("fetch_range", None, None)
        return self._merged("all")

    def to_arrow(self) -> pa.Table:
        """Return all entries as a table: key, bounds of the window, columns of the value, time.

        Members of a dataclass, dict or schema are columns. One that has the name of another column,
        such as ``timestamp``, is called ``value_timestamp``.
        """
        is_session = self._spec.kind is StoreKind.SESSION
        found = self._raw("fetch_range", None, None) if is_session else self._raw("all")
        entries = list(found)
        record = None
        if self._spec.kind in _TIMESTAMPED:
            record = {"timestamp": pa.array([value[1] for _, value in entries], INSTANT)}
        return entries_table(
            [key for key, _ in entries],
            [self._value(value) for _, value in entries],
            key_serde=self._serde,
            value_serde=self._value_serde,
            is_windowed=is_session or self._spec.kind in _WINDOWED,
            record=record,
        )

    def reverse_all(self) -> Iterator[tuple[Any, Any]]:
        """Return all entries, the last one first."""
        if self._spec.kind is StoreKind.SESSION:
            return self._merged("backward_fetch_range", None, None, is_backward=True)
        is_windowed = self._spec.kind in _WINDOWED
        return self._merged("backward_all" if is_windowed else "reverse_all", is_backward=True)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.all())

    def items(self) -> Iterator[tuple[Any, Any]]:
        return self.all()

    def approximate_num_entries(self) -> int:
        return sum(self._ask(part, "approximate_num_entries") for part in self._read)

    def __len__(self) -> int:
        return sum(1 for _ in self.all())

    # Window and session stores

    def fetch(self, key: Any, time_from: int | None = None, time_to: int | None = None) -> Any:
        """Return windows of a key between two starts, one window, or the sessions of a key."""
        return self._fetched("fetch", key, time_from, time_to)

    def backward_fetch(
        self, key: Any, time_from: int | None = None, time_to: int | None = None
    ) -> list[Any]:
        """Return windows of a key between two starts, or its sessions; the latest first."""
        found: list[Any] = self._fetched("backward_fetch", key, time_from, time_to)
        return found

    def fetch_range(
        self, key_from: Any, key_to: Any, time_from: int | None = None, time_to: int | None = None
    ) -> Iterator[tuple[Any, Any]]:
        """Return windows of a range of keys that start in a span, or sessions of these keys."""
        return self._merged("fetch_range", key_from, key_to, *_given(time_from, time_to))

    def backward_fetch_range(
        self, key_from: Any, key_to: Any, time_from: int | None = None, time_to: int | None = None
    ) -> Iterator[tuple[Any, Any]]:
        """Return the result of ``fetch_range``, the last entry first."""
        times = _given(time_from, time_to)
        return self._merged("backward_fetch_range", key_from, key_to, *times, is_backward=True)

    def fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Any, Any]]:
        """Return all windows that start between the two times."""
        return self._merged("fetch_all", time_from, time_to)

    def backward_fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Any, Any]]:
        """Return all windows that start between the two times, the last one first."""
        return self._merged("backward_fetch_all", time_from, time_to, is_backward=True)

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        """Return the value of the session with exactly these bounds, or None."""
        return self._first(key, "fetch_session", key, start, end)

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> list[Any]:
        """Return sessions of a key that end no earlier and start no later than these times."""
        found: list[Any] = self._fetched("find_sessions", key, earliest_end, latest_start)
        return found

    def backward_find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> list[Any]:
        """Return the result of ``find_sessions``, the latest session first."""
        found: list[Any] = self._fetched("backward_find_sessions", key, earliest_end, latest_start)
        return found

    # Inside

    def _ask(self, partition: int, method: str, *arguments: Any) -> Any:
        return self._answers.query(self.name, partition, method, arguments)

    def _fetched(self, method: str, key: Any, *times: int | None) -> Any:
        rows: list[tuple[Any, Any]] | None = None
        for partition in self.partitions_of(key):
            result = self._ask(partition, method, key, *_given(*times))
            if isinstance(result, list):
                rows = [*(rows or ()), *result]
            elif result is not None:
                return self._plain(result)
        if rows is None:
            return None
        # Each partition returns its rows in the order of time. Sorting keeps equal ones apart.
        rows.sort(key=lambda row: _time(row[0]), reverse=method.startswith("backward"))
        return [(start, self._plain(value)) for start, value in rows]

    def _first(self, key: Any, method: str, *arguments: Any) -> Any:
        """Return what the first partition that has something answers."""
        for partition in self.partitions_of(key):
            found = self._ask(partition, method, *arguments)
            if found is not None:
                return self._plain(found)
        return None

    def _merged(
        self, method: str, *arguments: Any, is_backward: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        for key, value in self._raw(method, *arguments, is_backward=is_backward):
            yield key, self._plain(value)

    def _raw(
        self, method: str, *arguments: Any, is_backward: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        """Yield the entries of all partitions with values as the store keeps them."""
        parts = [self._ask(part, method, *arguments) for part in self._read]
        # The keys of some operators' own stores are not those that the store's serde writes.
        yield from (
            chain(*parts)
            if self._spec.kind in _OF_OPERATORS
            else heapq.merge(*parts, key=lambda entry: self._order(entry[0]), reverse=is_backward)
        )

    def _order(self, key: Any) -> Any:
        if isinstance(key, Windowed):
            return key.window.start, self._serde.serialize(self._topic, key.key) or b""
        return self._serde.serialize(self._topic, key) or b""

    def _plain(self, value: Any) -> Any:
        """Return what users see of a value: with its timestamp only if they ask for that."""
        if self._with_timestamps and isinstance(value, ValueAndTimestamp | tuple):
            return ValueAndTimestamp(value[0], value[1])
        return self._value(value)

    def _value(self, value: Any) -> Any:
        if self._spec.kind in _TIMESTAMPED and isinstance(value, ValueAndTimestamp | tuple):
            return value[0]
        # As in Kafka Streams, users see only the value here, without headers.
        if isinstance(value, AggregationWithHeaders):
            return value.aggregation
        return value


def _fitting(kind: StoreKind) -> str:
    """Return what to give to read a kind of store."""
    for name, each in vars(QueryableStoreTypes).items():
        if isinstance(each, staticmethod) and each.__func__().accepts(kind):
            return f"QueryableStoreTypes.{name}()"
    return 'its name alone: streams.store("…")'


def _time(start: Any) -> tuple[int, int]:
    """Return where a window or a session stands among those of its key."""
    if isinstance(start, Windowed):
        return start.window.end, start.window.start
    return int(start), 0


def _given(*times: int | None) -> list[int]:
    return [each for each in times if each is not None]
