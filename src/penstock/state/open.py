"""Opens a store: chooses the engine by the spec, and adds the layers.

typed (serdes) -> expiring, if asked -> metered, if asked -> cached -> change-logged -> engine
(memory, RocksDB, LRU).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from penstock.state.buffer.outer_join import open_outer_join_store
from penstock.state.buffer.time_ordered_buffer import open_time_ordered_buffer
from penstock.state.bytes_store import BytesStore, Write
from penstock.state.codec import Codec, key_codec, timestamped, value_codec
from penstock.state.engine.lru import LruStore
from penstock.state.engine.memory import MemoryStore
from penstock.state.environment import Changelog, StoreEnvironment
from penstock.state.expiring import expiring, is_stamped, stamped
from penstock.state.header_rows import HeadersChangelog, row_codecs
from penstock.state.key_value.key_value_store import (
    TypedKeyValueStore,
    headers_restore,
    plain_restore,
    timestamped_restore,
)
from penstock.state.layers.bulk import BulkRows
from penstock.state.layers.cached_key_value import CachedKeyValue
from penstock.state.layers.changelogged import ChangeLogged, TimestampedChangelog
from penstock.state.layers.metered import Metered, Metrics
from penstock.state.protocols import StateStore
from penstock.state.session.session_store import open_session_store
from penstock.state.spec import StoreHeaders, StoreKind, StoreSpec
from penstock.state.versioned.versioned_store import open_versioned_store
from penstock.state.window.window_store import open_window_store

Restore = Callable[[Iterable[Write]], None]


def open_store(
    spec: StoreSpec, env: StoreEnvironment, *, metrics: Metrics | None = None
) -> StateStore:
    """Open the store of one task. If a serde is missing, raise before anything is opened.

    A key-value store is measured above its cache, any other at its engine.
    """
    if spec.kind not in _OPENERS:
        return open_key_value_store(spec, env, metrics=metrics)
    if metrics is not None:
        engine = env.engine
        env = replace(env, engine=lambda name: Metered(engine(name), spec.name, metrics))
    # Only to find a missing serde before the engine is opened. The opener binds them again.
    key_codec(spec, env), value_codec(spec, env)
    return _OPENERS[spec.kind](spec, env)


def open_key_value_store(
    spec: StoreSpec, env: StoreEnvironment, *, metrics: Metrics | None = None
) -> TypedKeyValueStore[Any, Any]:
    """Open a plain or a timestamped key-value store."""
    keys, values = key_codec(spec, env), value_codec(spec, env)
    is_timestamped = spec.kind != StoreKind.KEY_VALUE
    # Rows that have a timestamp only because they expire have the layout of timestamped rows.
    has_time = is_timestamped or is_stamped(spec)
    changelog = env.changelog(spec.name) if spec.logging else None
    engine, apply = _engine(spec, env, changelog, is_timestamped)
    store = engine
    keeps_headers = spec.headers is not StoreHeaders.NONE
    if changelog is not None:
        log = changelog
        if keeps_headers:
            log = HeadersChangelog(changelog, env.context, is_timestamped=True)
        elif has_time:
            log = TimestampedChangelog(changelog)
        store = ChangeLogged(store, log, env.context)
    cached = None
    if spec.caching and env.cache is not None:
        store = cached = CachedKeyValue(spec.name, store, env.cache, env.context)
    if metrics is not None:
        store = Metered(store, spec.name, metrics)
    aging = None
    if spec.ttl_ms is not None:
        store = aging = expiring(spec, env, store)
    codecs: dict[StoreHeaders, Codec] = {}
    restore: Callable[[Iterable[Any]], None] = plain_restore(apply)
    bulk = None
    if keeps_headers:
        codecs = row_codecs(values, spec, env, is_timestamped=True)
        values, restore = codecs[spec.headers], headers_restore(apply)
    elif is_stamped(spec):
        values, restore = stamped(values, spec, env), timestamped_restore(apply)
    elif is_timestamped:
        values, restore = timestamped(values), timestamped_restore(apply)
        if spec.max_entries is None and aging is None:
            # Batches over columns pass the layer above by, so they are measured at the engine.
            below = engine if metrics is None else Metered(engine, spec.name, metrics)
            bulk = BulkRows(below, changelog, cached, keys, values)
    return TypedKeyValueStore(
        spec,
        store,
        keys=keys,
        values=values,
        restore=restore,
        cached=cached,
        bulk=bulk,
        codecs=codecs,
        aging=aging,
    )


def _engine(
    spec: StoreSpec, env: StoreEnvironment, changelog: Changelog | None, is_timestamped: bool
) -> tuple[BytesStore, Restore]:
    if spec.max_entries is not None:
        # Kafka Streams logs the tombstone of an evicted entry only for plain stores: in a
        # timestamped store, a wrapper hides the map from the changelog layer.
        log = None if changelog is None or is_timestamped else _tombstones(changelog, env)
        lru = LruStore(spec.max_entries, log)
        return lru, lru.restore
    engine = env.engine(spec.name) if spec.persistent else MemoryStore()
    return engine, engine.write


def _tombstones(changelog: Changelog, env: StoreEnvironment) -> Callable[[bytes], None]:
    context = env.context
    return lambda key: changelog.append(key, None, context.timestamp)


_OPENERS: dict[StoreKind, Callable[[StoreSpec, StoreEnvironment], StateStore]] = {
    StoreKind.WINDOW: open_window_store,
    StoreKind.TIMESTAMPED_WINDOW: open_window_store,
    StoreKind.SESSION: open_session_store,
    StoreKind.VERSIONED_KEY_VALUE: open_versioned_store,
    StoreKind.OUTER_JOIN: open_outer_join_store,
    StoreKind.TIME_ORDERED_BUFFER: open_time_ordered_buffer,
}
