"""Typed versioned key-value stores, for users and operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from penstock.model.time.duration import MAX_LONG
from penstock.model.versioned import PUT_RETURN_CODE_NOT_PUT, VersionedRecord
from penstock.state.codec import Codec, key_codec, value_codec
from penstock.state.engine.closed_bytes import ClosedBytes
from penstock.state.engine.memory import MemoryStore
from penstock.state.environment import Changelog, StoreEnvironment
from penstock.state.protocols import FlushListener
from penstock.state.spec import StoreKind, StoreSpec
from penstock.state.versioned.versioned_bytes import VersionedBytes, default_versioned_interval_ms
from penstock.state.window.window_bytes import ChangelogRecord

K = TypeVar("K")
V = TypeVar("V")


class TypedVersionedStore(Generic[K, V]):
    """All versions of a value within the history retention. It is never cached.

    Each put is logged with the time of the version, also if it was too old.
    """

    def __init__(
        self,
        spec: StoreSpec,
        inner: VersionedBytes,
        *,
        keys: Codec,
        values: Codec,
        changelog: Changelog | None,
        expired: Callable[[], None],
    ) -> None:
        self.name = spec.name
        self.kind: StoreKind = spec.kind
        self.persistent = spec.persistent
        self.history_retention_ms = spec.history_retention_ms
        self._bytes = inner
        self._keys = keys
        self._values = values
        self._changelog = changelog
        self._expired = expired
        self._is_open = True

    @property
    def is_open(self) -> bool:
        return self._is_open

    def put(self, key: K, value: V | None, timestamp: int) -> int:
        """Put a version; return the time until which it is valid.

        That is ``PUT_RETURN_CODE_VALID_TO_UNDEFINED`` for the latest version, and
        ``PUT_RETURN_CODE_NOT_PUT`` for one that is older than the history that is kept.
        """
        raw_key = self._keys.write_key(key)
        return self._put(raw_key, self._values.write_checked(value), timestamp)

    def delete(self, key: K, timestamp: int) -> VersionedRecord[V] | None:
        """Put a deletion; return the version that was valid at that time."""
        raw_key = self._keys.write_key(key)
        found = self._bytes.get_as_of(raw_key, timestamp)
        if self._put(raw_key, None, timestamp) == PUT_RETURN_CODE_NOT_PUT:
            return None
        return self._decoded(found)

    def get(self, key: K, as_of: int | None = None) -> VersionedRecord[V] | None:
        """Return the latest version, or the one that was valid at ``as_of``.

        As in Kafka Streams, ``valid_to`` is None in both cases. ``versions`` returns it.
        """
        raw_key = self._keys.write_key(key)
        if as_of is None:
            return self._decoded(self._bytes.get(raw_key))
        return self._decoded(self._bytes.get_as_of(raw_key, as_of))

    def versions(
        self, key: K, time_from: int = 0, time_to: int = MAX_LONG
    ) -> list[VersionedRecord[V]]:
        """Return every version that is valid at some time of the span, newest first."""
        found = self._bytes.versions(self._keys.write_key(key), time_from, time_to)
        read = self._values.read_checked
        return [VersionedRecord(read(one.value), one.timestamp, one.valid_to) for one in found]

    def all_versions(self) -> Iterator[tuple[K, VersionedRecord[V]]]:
        """Return every version within the history of every key; those of a key newest first."""
        for raw_key in self._bytes.all_keys():
            key = self._keys.read_checked(raw_key)
            for version in self.versions(key, self._bytes.oldest_readable):
                yield key, version

    def flush(self) -> None:
        self._bytes.flush()

    def close(self) -> None:
        inner, self._is_open = self._bytes, False
        closed: Any = ClosedBytes(self.name)
        self._bytes = closed
        inner.close()

    def restore(self, records: Iterable[ChangelogRecord]) -> None:
        self._bytes.restore(records)

    def set_flush_listener(self, listener: FlushListener, *, send_old: bool) -> bool:
        return False

    def _put(self, key: bytes, value: bytes | None, timestamp: int) -> int:
        valid_to = self._bytes.put(key, value, timestamp)
        if valid_to == PUT_RETURN_CODE_NOT_PUT:
            self._expired()
        if self._changelog is not None:
            self._changelog.append(key, value, timestamp)
        return valid_to

    def _decoded(self, found: VersionedRecord[bytes] | None) -> VersionedRecord[V] | None:
        if found is None:
            return None
        return VersionedRecord(self._values.read_checked(found.value), found.timestamp)


def open_versioned_store(spec: StoreSpec, env: StoreEnvironment) -> TypedVersionedStore[Any, Any]:
    """Open a versioned store. Unlike in Kafka Streams, it can also be in memory."""
    retention_ms = spec.history_retention_ms
    interval_ms = spec.segment_interval_ms or default_versioned_interval_ms(retention_ms)
    engine = env.engine(spec.name) if spec.persistent else MemoryStore()
    return TypedVersionedStore(
        spec,
        VersionedBytes(engine, retention_ms, interval_ms),
        keys=key_codec(spec, env),
        values=value_codec(spec, env),
        changelog=env.changelog(spec.name) if spec.logging else None,
        # The task says what to do about it after its stores are open.
        expired=lambda: env.expired(spec.name),
    )
