"""The default engine of the stores of DSL operators."""

from __future__ import annotations

from enum import StrEnum

from penstock.errors import ConfigError, InvalidArgumentError
from penstock.model.site import caller_site

_JAVA_NAMES = {
    "rocksDB": "rocksdb",
    "RocksDBDslStoreSuppliers": "rocksdb",
    "InMemoryDslStoreSuppliers": "in_memory",
}


class StoreType(StrEnum):
    """RocksDB on disk, or memory. Both have a changelog unless logging is disabled."""

    ROCKS_DB = "rocksdb"
    IN_MEMORY = "in_memory"


def store_type_of(given: StoreType | str | None) -> StoreType | None:
    """Return the store type that an option names."""
    if given is None:
        return None
    try:
        return _parsed(given)
    except ValueError:
        raise InvalidArgumentError(
            "bad-store-type",
            f"store type {given!r} is unknown",
            fix='give "rocksdb" or "in_memory"',
            at=caller_site(),
        ) from None


def configured_store_type(setting: str, given: object) -> StoreType | None:
    """Return the store type of ``dsl.store.suppliers.class``, also for Java's class names."""
    if given is None:
        return None
    try:
        return _parsed(given)
    except ValueError:
        raise ConfigError(
            "bad-setting",
            f"{setting}={given!r} names no store suppliers",
            fix='give "rocksdb" or "in_memory"',
        ) from None


def _parsed(given: object) -> StoreType:
    text = str(given).rpartition("$")[2].rpartition(".")[2] or str(given)
    return StoreType(_JAVA_NAMES.get(text, text.lower()))
