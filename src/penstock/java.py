"""Java's spellings, for programs that are ported line by line: ``from penstock.java import …``.

New programs do not need them: a type or a name stands for a serde, text for a duration or a name of
a node, and ``"application.id"`` for a setting.
"""

from __future__ import annotations

from difflib import get_close_matches

from penstock import config
from penstock.dsl.faces.older_operators import branch, through
from penstock.dsl.options.emit_strategy import EmitStrategy as PythonEmitStrategy
from penstock.dsl.options.join_options import Joined, StreamJoined, TableJoined
from penstock.dsl.options.materialized import Materialized
from penstock.dsl.options.naming import Named
from penstock.dsl.options.offset_reset import AutoOffsetReset as PythonOffsetReset
from penstock.dsl.options.stream_options import (
    Branched,
    Consumed,
    Grouped,
    Printed,
    Produced,
    Repartitioned,
)
from penstock.errors import DeserializationError as DeserializationException
from penstock.errors import SerializationError as SerdeException
from penstock.errors import TaskMigratedError as TaskMigratedException
from penstock.model.windows.definitions import (
    JoinWindows as PythonJoinWindows,
)
from penstock.model.windows.definitions import (
    SessionWindows as PythonSessionWindows,
)
from penstock.model.windows.definitions import (
    TimeWindows as PythonTimeWindows,
)
from penstock.model.windows.definitions import (
    day_long_join_windows,
    day_long_session_windows,
    day_long_time_windows,
)
from penstock.query.parameters import QueryableStoreTypes, StoreQueryParameters
from penstock.serde.serdes import Serdes as PythonSerdes
from penstock.state.stores import Stores as PythonStores

__all__ = [
    "AutoOffsetReset",
    "Branched",
    "Consumed",
    "DeserializationException",
    "EmitStrategy",
    "Grouped",
    "JoinWindows",
    "Joined",
    "Materialized",
    "Named",
    "Printed",
    "Produced",
    "QueryableStoreTypes",
    "Repartitioned",
    "SerdeException",
    "Serdes",
    "SessionWindows",
    "StoreQueryParameters",
    "Stores",
    "StreamJoined",
    "StreamsConfig",
    "TableJoined",
    "TaskMigratedException",
    "TimeWindows",
    "branch",
    "through",
]


class _Constants(config.ConfigType):
    """Lets type checkers know the constants, and tells the nearest one to a misspelled name."""

    def __getattr__(cls, name: str) -> str:  # noqa: N805
        near = get_close_matches(name, dir(cls), n=1) if name.isupper() else []
        hint = f": did you mean {near[0]}?" if near else ""
        raise AttributeError(f"StreamsConfig has no constant {name}{hint}")


class StreamsConfig(config.StreamsConfig, metaclass=_Constants):
    """The settings, with Java's constants.

    >>> StreamsConfig.APPLICATION_ID_CONFIG
    'application.id'
    """

    EXACTLY_ONCE_V2 = "exactly_once_v2"
    AT_LEAST_ONCE = "at_least_once"
    OPTIMIZE = "all"
    NO_OPTIMIZATION = "none"


for _name in config.SETTINGS:
    setattr(StreamsConfig, config.java_constant(_name), _name)


class Serdes(PythonSerdes):
    """The factories of serdes, with Java's names for them.

    >>> Serdes.String() == PythonSerdes.string()
    True
    """

    String = staticmethod(PythonSerdes.string)
    Long = staticmethod(PythonSerdes.long)
    Integer = staticmethod(PythonSerdes.integer)
    Short = staticmethod(PythonSerdes.short)
    Float = staticmethod(PythonSerdes.float_)
    Double = staticmethod(PythonSerdes.double)
    Bytes = staticmethod(PythonSerdes.bytes)
    ByteArray = staticmethod(PythonSerdes.bytes)
    ByteBuffer = staticmethod(PythonSerdes.bytes)
    Boolean = staticmethod(PythonSerdes.boolean)
    UUID = staticmethod(PythonSerdes.uuid)
    Void = staticmethod(PythonSerdes.void)
    ListSerde = staticmethod(PythonSerdes.list_)
    Json = staticmethod(PythonSerdes.json)


class AutoOffsetReset(PythonOffsetReset):
    """Where a source starts to read, with Java's methods.

    >>> AutoOffsetReset.earliest()
    'earliest'
    """

    @staticmethod
    def earliest() -> str:
        """Return the policy to begin with the first record."""
        return "earliest"

    @staticmethod
    def latest() -> str:
        """Return the policy to begin with records from now on."""
        return "latest"

    @staticmethod
    def none() -> str:
        """Return the policy to refuse to start without a committed offset."""
        return "none"


class EmitStrategy:
    """When a windowed aggregation emits, with Java's methods."""

    @staticmethod
    def on_window_update() -> PythonEmitStrategy:
        """Return the strategy that emits every change of a window (the default)."""
        return PythonEmitStrategy.ON_WINDOW_UPDATE

    @staticmethod
    def on_window_close() -> PythonEmitStrategy:
        """Return the strategy that emits each window once, when it closes."""
        return PythonEmitStrategy.ON_WINDOW_CLOSE


class TimeWindows(PythonTimeWindows):
    """Windows of fixed size, with the factory of before Kafka 3.0.

    >>> TimeWindows.of("1h").grace_ms == 23 * 3_600_000
    True
    """

    of = staticmethod(day_long_time_windows)


class SessionWindows(PythonSessionWindows):
    """Sessions, with the factory of before Kafka 3.0."""

    with_ = staticmethod(day_long_session_windows)


class JoinWindows(PythonJoinWindows):
    """How far apart two records may be, with the factory of before Kafka 3.0."""

    of = staticmethod(day_long_join_windows)


class Stores(PythonStores):
    """The factories of stores, with Java's names for them.

    >>> supplier = Stores.persistentKeyValueStore("counts")
    >>> Stores.keyValueStoreBuilder(supplier, Serdes.String(), Serdes.Long()).name
    'counts'
    """

    persistentKeyValueStore = staticmethod(PythonStores.persistent_key_value_store)
    persistentTimestampedKeyValueStore = staticmethod(
        PythonStores.persistent_timestamped_key_value_store
    )
    persistentTimestampedKeyValueStoreWithHeaders = staticmethod(
        PythonStores.persistent_timestamped_key_value_store_with_headers
    )
    inMemoryKeyValueStore = staticmethod(PythonStores.in_memory_key_value_store)
    lruMap = staticmethod(PythonStores.lru_map)
    persistentVersionedKeyValueStore = staticmethod(
        PythonStores.persistent_versioned_key_value_store
    )
    persistentWindowStore = staticmethod(PythonStores.persistent_window_store)
    persistentTimestampedWindowStore = staticmethod(
        PythonStores.persistent_timestamped_window_store
    )
    persistentTimestampedWindowStoreWithHeaders = staticmethod(
        PythonStores.persistent_timestamped_window_store_with_headers
    )
    inMemoryWindowStore = staticmethod(PythonStores.in_memory_window_store)
    persistentSessionStore = staticmethod(PythonStores.persistent_session_store)
    persistentSessionStoreWithHeaders = staticmethod(
        PythonStores.persistent_session_store_with_headers
    )
    inMemorySessionStore = staticmethod(PythonStores.in_memory_session_store)
    keyValueStoreBuilder = staticmethod(PythonStores.key_value_store_builder)
    timestampedKeyValueStoreBuilder = staticmethod(PythonStores.timestamped_key_value_store_builder)
    timestampedKeyValueStoreWithHeadersBuilder = staticmethod(
        PythonStores.timestamped_key_value_store_with_headers_builder
    )
    versionedKeyValueStoreBuilder = staticmethod(PythonStores.versioned_key_value_store_builder)
    windowStoreBuilder = staticmethod(PythonStores.window_store_builder)
    timestampedWindowStoreBuilder = staticmethod(PythonStores.timestamped_window_store_builder)
    timestampedWindowStoreWithHeadersBuilder = staticmethod(
        PythonStores.timestamped_window_store_with_headers_builder
    )
    sessionStoreWithHeadersBuilder = staticmethod(PythonStores.session_store_with_headers_builder)
    sessionStoreBuilder = staticmethod(PythonStores.session_store_builder)
