"""Options of a table's store. How they are used: ``dsl.plan.materialize``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from penstock.dsl.generics import K, SerdeLike, V
from penstock.dsl.options.store_type import StoreType, store_type_of
from penstock.dsl.options.stream_options import SerdeOptions, check_options
from penstock.errors import InvalidArgumentError
from penstock.model.former_names import one_spelling
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms
from penstock.state.stores import StoreSupplier


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class Materialized(SerdeOptions[K, V]):
    """Name, serdes and layers of a store. A store with a name can be queried.

    ``store`` is a store that the user has made
    (``Stores.persistent_versioned_key_value_store(…)``), with its name. Caching and logging are on
    by default.
    """

    store: StoreSupplier | None = None
    logging: bool = True
    changelog_config: Mapping[str, str] | None = None
    caching: bool = True
    retention: Duration | None = None
    store_type: StoreType | str | None = None

    def __post_init__(self) -> None:
        check_options(self)
        object.__setattr__(self, "store_type", store_type_of(self.store_type))
        if self.store is not None and self.store_type is not None:
            raise _bad("store type and store are both given", "leave one of them out")
        retention_ms = self.retention_ms
        if retention_ms is not None and retention_ms < 0:
            raise _bad(f"retention {retention_ms} ms is negative", "give 0 or more")

    @staticmethod
    def as_(store: str | StoreSupplier | StoreType) -> Materialized[Any, Any]:
        """Name the store, or give the store to use."""
        if isinstance(store, StoreType):
            return Materialized(store_type=store)
        if isinstance(store, StoreSupplier):
            return Materialized(store=store)
        return Materialized(name=store)

    @staticmethod
    def with_(
        key: SerdeLike[K] | None = None, value: SerdeLike[V] | None = None
    ) -> Materialized[K, V]:
        """Return options with serdes and without a name."""
        return Materialized(key=key, value=value)

    def with_logging_enabled(self, config: Mapping[str, str] | None = None) -> Self:
        """Return options with a changelog, whose topic has these settings."""
        return replace(self, logging=True, changelog_config=config)

    def with_logging_disabled(self) -> Self:
        """Return options without a changelog: a lost store starts empty."""
        return replace(self, logging=False, changelog_config=None)

    def with_caching_enabled(self) -> Self:
        """Return options with a record cache in front of the store (the default)."""
        return replace(self, caching=True)

    def with_caching_disabled(self) -> Self:
        """Return options without a record cache: every update is passed on."""
        return replace(self, caching=False)

    def with_retention(self, retention: Duration) -> Self:
        """Return options that keep windows or sessions for so long."""
        return replace(self, retention=retention)

    def with_store_type(self, store_type: StoreType | str) -> Self:
        """Return options for a store in RocksDB or in memory."""
        return replace(self, store_type=store_type)

    @property
    def store_name(self) -> str | None:
        """Return the name that the user gave, directly or with a store."""
        return self.name if self.store is None else self.store.name

    @property
    def retention_ms(self) -> int | None:
        return None if self.retention is None else to_ms(self.retention, "retention")


def _bad(message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError("bad-materialized", message, fix, caller_site())
