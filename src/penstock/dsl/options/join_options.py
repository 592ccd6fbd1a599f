"""Options of joins. None means: not given. Other options: ``stream_options``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Self

from penstock.dsl.generics import K, KOther, SerdeLike, V, VOther
from penstock.dsl.options.store_type import StoreType, store_type_of
from penstock.dsl.options.stream_options import SerdeOptions, check_options
from penstock.model.former_names import one_spelling
from penstock.model.time.duration import Duration, to_ms
from penstock.processor.functions import StreamPartitioner
from penstock.state.stores import WindowBytesStoreSupplier


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class Joined(SerdeOptions[K, V], Generic[K, V, VOther]):
    """Serdes, name and grace period of a stream-table join.

    With a ``grace_period``, records wait that long, and are joined with the row that the versioned
    table had at their timestamp.
    """

    other_value: SerdeLike[VOther] | None = None
    grace_period: Duration | None = None

    @staticmethod
    def with_(
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        other_value: SerdeLike[VOther] | None = None,
        name: str | None = None,
        grace_period: Duration | None = None,
    ) -> Joined[K, V, VOther]:
        """Return options with serdes of key, stream and table."""
        return Joined(
            key=key,
            value=value,
            other_value=other_value,
            name=name,
            grace_period=grace_period,
        )

    @staticmethod
    def as_(name: str) -> Joined[Any, Any, Any]:
        """Return options with a name."""
        return Joined(name=name)

    def with_other_value(self, other_value: SerdeLike[VOther]) -> Self:
        """Return options with the serde of the other side's values."""
        return replace(self, other_value=other_value)

    def with_grace_period(self, grace_period: Duration) -> Self:
        """Return options that let records wait for a versioned table."""
        return replace(self, grace_period=grace_period)

    @property
    def grace_ms(self) -> int | None:
        return None if self.grace_period is None else to_ms(self.grace_period, "grace period")


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class StreamJoined(SerdeOptions[K, V], Generic[K, V, VOther]):
    """Serdes, names and stores of a stream-stream join.

    ``store_name`` is the prefix of both window stores. ``this_store`` and ``other_store`` are
    window stores that the user has made (``Stores.*_window_store``).
    """

    other_value: SerdeLike[VOther] | None = None
    store_name: str | None = None
    this_store: WindowBytesStoreSupplier | None = None
    other_store: WindowBytesStoreSupplier | None = None
    store_type: StoreType | str | None = None
    logging: bool = True
    changelog_config: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "store_type", store_type_of(self.store_type))

    @staticmethod
    def with_(
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        other_value: SerdeLike[VOther] | None = None,
    ) -> StreamJoined[K, V, VOther]:
        """Return options with serdes of key, left and right values."""
        return StreamJoined(key=key, value=value, other_value=other_value)

    @staticmethod
    def with_stores(
        this_store: WindowBytesStoreSupplier, other_store: WindowBytesStoreSupplier
    ) -> StreamJoined[Any, Any, Any]:
        """Return options with stores of your own for both sides."""
        return StreamJoined(this_store=this_store, other_store=other_store)

    @staticmethod
    def as_(store_name: str) -> StreamJoined[Any, Any, Any]:
        """Name the stores, as in Java; ``with_name`` names the processors."""
        return StreamJoined(store_name=store_name)

    def with_other_value(self, other_value: SerdeLike[VOther]) -> Self:
        return replace(self, other_value=other_value)

    def with_store_name(self, store_name: str) -> Self:
        """Return options with a name for both stores."""
        return replace(self, store_name=store_name)

    def with_this_store_supplier(self, store: WindowBytesStoreSupplier) -> Self:
        return replace(self, this_store=store)

    def with_other_store_supplier(self, store: WindowBytesStoreSupplier) -> Self:
        return replace(self, other_store=store)

    def with_dsl_store_suppliers(self, store_type: StoreType | str) -> Self:
        return replace(self, store_type=store_type)

    def with_logging_enabled(self, config: Mapping[str, str] | None = None) -> Self:
        """Return options with changelogs, whose topics have these settings."""
        return replace(self, logging=True, changelog_config=config)

    def with_logging_disabled(self) -> Self:
        """Return options without changelogs."""
        return replace(self, logging=False, changelog_config=None)


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class TableJoined(Generic[K, KOther]):
    """Name and partitioners of a foreign-key join. A partitioner gets None as the value."""

    name: str | None = None
    partitioner: StreamPartitioner | None = None
    other_partitioner: StreamPartitioner | None = None

    def __post_init__(self) -> None:
        check_options(self)

    @staticmethod
    def with_(
        partitioner: StreamPartitioner | None = None,
        other_partitioner: StreamPartitioner | None = None,
    ) -> TableJoined[Any, Any]:
        return TableJoined(partitioner=partitioner, other_partitioner=other_partitioner)

    @staticmethod
    def as_(name: str) -> TableJoined[Any, Any]:
        return TableJoined(name=name)

    def with_name(self, name: str) -> Self:
        return replace(self, name=name)

    def with_partitioner(self, partitioner: StreamPartitioner) -> Self:
        return replace(self, partitioner=partitioner)

    def with_other_partitioner(self, partitioner: StreamPartitioner) -> Self:
        return replace(self, other_partitioner=partitioner)
