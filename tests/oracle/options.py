"""Option objects, windows, stores and configuration of a case, as the library's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import penstock as ps
from tests.oracle.extractors import timestamp_extractor
from tests.oracle.serdes import serde

Op = Mapping[str, Any]

_BUILDER_KEYS = ("dsl.store.suppliers.class", "ensure.explicit.internal.resource.naming")
_CACHE = "statestore.cache.max.bytes"
_WALL_CLOCK = "initial_wall_clock_ms"


def configuration(case: Mapping[str, Any]) -> dict[str, Any]:
    """Gives the driver's configuration; the cache is off unless the case sizes it."""
    config: dict[str, Any] = {"application.id": "app", _CACHE: 0}
    # Java has no default serdes.
    config |= {"default.key.serde": None, "default.value.serde": None}
    for key, value in case.get("config", {}).items():
        if key == _WALL_CLOCK:
            continue
        if key.endswith(".serde"):
            value = serde(value)
        elif key == "default.timestamp.extractor":
            value = timestamp_extractor(value)
        config[key] = value
    return config


def builder_configuration(case: Mapping[str, Any]) -> dict[str, Any] | None:
    """Gives what the builder must know before the first operation, or None."""
    config = case.get("config", {})
    return {key: config[key] for key in _BUILDER_KEYS if key in config} or None


def initial_wall_clock_ms(case: Mapping[str, Any]) -> int:
    """Gives the wall clock at which the driver starts."""
    return int(case.get("config", {}).get(_WALL_CLOCK, 0))


def topics(op: Op) -> Any:
    """Gives the topic, the list of topics or the compiled pattern of a source."""
    return re.compile(op["pattern"]) if "pattern" in op else op["topic"]


def extractor(op: Op) -> Any:
    """Gives the timestamp extractor of a source, or None."""
    spec = op.get("timestamp_extractor")
    return None if spec is None else timestamp_extractor(spec)


def serdes(options: Op) -> dict[str, Any]:
    """Gives the serde keywords of an option object."""
    parts = ("key", "value", "other_value")
    given = {part: options.get(f"{part}_serde") for part in parts}
    return {part: serde(name) for part, name in given.items() if name is not None}


def consumed(op: Op) -> ps.Consumed[Any, Any] | None:
    """Gives ``Consumed`` if the source has any option."""
    options = serdes(op)
    if (extract := extractor(op)) is not None:
        options["timestamp_extractor"] = extract
    options |= _renamed(op, {"offset_reset": "offset_reset", "named": "name"})
    return ps.Consumed(**options) if options else None


def produced(op: Op) -> ps.Produced[Any, Any] | None:
    """Gives ``Produced`` if the sink has any option."""
    options = serdes(op) | _renamed(op, {"named": "name"})
    return ps.Produced(**options) if options else None


def grouped(op: Op) -> ps.Grouped[Any, Any] | None:
    """Gives ``Grouped`` if the case names one."""
    return _options(op, "grouped", ps.Grouped, {"name": "name"})


def repartitioned(op: Op) -> ps.Repartitioned[Any, Any] | None:
    """Gives ``Repartitioned`` if the case names one."""
    renames = {"name": "name", "partitions": "num_partitions"}
    return _options(op, "repartitioned", ps.Repartitioned, renames)


def joined(op: Op) -> ps.Joined[Any, Any, Any] | None:
    """Gives ``Joined`` (stream-table) if the case names one."""
    made = _options(op, "joined", ps.Joined, {"name": "name"})
    grace_ms = (op.get("joined") or {}).get("grace_ms")
    return made if grace_ms is None else made.with_grace_period(grace_ms)


def stream_joined(op: Op) -> ps.StreamJoined[Any, Any, Any] | None:
    """Gives ``StreamJoined`` if the case names one."""
    same = ("name", "store_name", "store_type", "logging")
    return _options(op, "stream_joined", ps.StreamJoined, {name: name for name in same})


def table_joined(op: Op) -> ps.TableJoined[Any, Any] | None:
    """Gives ``TableJoined`` if the case names one."""
    name = op.get("table_joined")
    return None if name is None else ps.TableJoined(name=name)


def materialized(op: Op) -> ps.Materialized[Any, Any] | None:
    """Gives ``Materialized`` if the case names one; a history makes it a versioned store."""
    options = op.get("materialized")
    if options is None:
        return None
    made = _materialized_store(options)
    for name, each in serdes(options).items():
        made = getattr(made, f"with_{name}")(each)
    if options.get("logging") is False:
        made = made.with_logging_disabled()
    if "caching" in options:
        cached = options["caching"]
        made = made.with_caching_enabled() if cached else made.with_caching_disabled()
    if "retention_ms" in options:
        made = made.with_retention(options["retention_ms"])
    return made.with_store_type(options["store_type"]) if "store_type" in options else made


def _materialized_store(options: Op) -> ps.Materialized[Any, Any]:
    if "versioned_history_ms" in options:
        name, history_ms = options["name"], options["versioned_history_ms"]
        store = ps.Stores.persistent_versioned_key_value_store(name, history_ms)
        return ps.Materialized.as_(store)
    return ps.Materialized.as_(options["name"]) if "name" in options else ps.Materialized()


def _options(op: Op, field: str, make: Any, renames: Mapping[str, str]) -> Any:
    options = op.get(field)
    return None if options is None else make(**serdes(options), **_renamed(options, renames))


def _renamed(options: Op, renames: Mapping[str, str]) -> dict[str, Any]:
    return {new: options[old] for old, new in renames.items() if options.get(old) is not None}


def windows(op: Op) -> Any:
    """Gives the windows of ``windowed_by``."""
    window = op["window"]
    grace = window.get("grace_ms")
    match window["type"]:
        case "tumbling" | "hopping":
            size = window["size_ms"]
            made = _graced(ps.TimeWindows, "of_size", size, grace)
            return made.advance_by(window["advance_ms"]) if "advance_ms" in window else made
        case "sliding":
            return _graced(ps.SlidingWindows, "of_time_difference", window["difference_ms"], grace)
        case "session":
            return _graced(ps.SessionWindows, "of_inactivity_gap", window["gap_ms"], grace)
        case "unlimited":
            unlimited = ps.UnlimitedWindows.of()
            return unlimited.start_on(window["start_ms"]) if "start_ms" in window else unlimited
        case other:
            raise ValueError(f"unknown window type {other!r}")


def join_windows(op: Op) -> ps.JoinWindows:
    """Gives the windows of a stream-stream join."""
    window = op["window"]
    difference, grace = window.get("difference_ms", 0), window.get("grace_ms")
    made = _graced(ps.JoinWindows, "of_time_difference", difference, grace)
    bounds = ["before", "after"]
    if window.get("before_ms", 0) < 0:
        # Widening first keeps the interval from being negative in between.
        bounds.reverse()
    for bound in bounds:
        if f"{bound}_ms" in window:
            made = getattr(made, bound)(window[f"{bound}_ms"])
    return made


def _graced(kind: Any, factory: str, span_ms: int, grace_ms: int | None) -> Any:
    if grace_ms is None:
        return getattr(kind, f"{factory}_with_no_grace")(span_ms)
    return getattr(kind, f"{factory}_and_grace")(span_ms, grace_ms)


def suppressed(op: Op) -> ps.Suppressed:
    """Gives the suppression with its buffer."""
    buffer = _buffer(op)
    if op["until"] == "window_closes":
        made = ps.Suppressed.until_window_closes(buffer)
    else:
        made = ps.Suppressed.until_time_limit(op["limit_ms"], buffer)
    return made.with_name(op["named"]) if "named" in op else made


def _buffer(op: Op) -> ps.BufferConfig:
    if "max_records" in op:
        buffer = ps.BufferConfig.max_records(op["max_records"])
        if "max_bytes" in op:
            buffer = buffer.with_max_bytes(op["max_bytes"])
    elif "max_bytes" in op:
        buffer = ps.BufferConfig.max_bytes(op["max_bytes"])
    else:
        buffer = ps.BufferConfig.unbounded()
    if op.get("when_full") == "shut_down":
        buffer = buffer.shut_down_when_full()
    elif op.get("when_full") == "emit_early":
        buffer = buffer.emit_early_when_full()
    return buffer.with_logging_disabled() if op.get("logging") is False else buffer


def store_builder(store: Op) -> Any:
    """Gives the builder of a store object."""
    builder = _store_builder(store, serde(store.get("key_serde")), serde(store.get("value_serde")))
    return builder if store.get("logging", True) else builder.with_logging_disabled()


def _store_builder(store: Op, keys: Any, values: Any) -> Any:
    name, where = store["name"], "persistent" if store.get("persistent") else "in_memory"
    match store["kind"]:
        case "kv":
            supplier = getattr(ps.Stores, f"{where}_key_value_store")(name)
            return ps.Stores.key_value_store_builder(supplier, keys, values)
        case "timestamped_kv":
            kind = "timestamped_key_value" if store.get("persistent") else "key_value"
            supplier = getattr(ps.Stores, f"{where}_{kind}_store")(name)
            return ps.Stores.timestamped_key_value_store_builder(supplier, keys, values)
        case "lru":
            supplier = ps.Stores.lru_map(name, store["max_entries"])
            return ps.Stores.key_value_store_builder(supplier, keys, values)
        case "window":
            spans = (store["retention_ms"], store["window_size_ms"])
            make = getattr(ps.Stores, f"{where}_window_store")
            supplier = make(name, *spans, retain_duplicates=store.get("retain_duplicates", False))
            return ps.Stores.window_store_builder(supplier, keys, values)
        case "session":
            supplier = getattr(ps.Stores, f"{where}_session_store")(name, store["retention_ms"])
            return ps.Stores.session_store_builder(supplier, keys, values)
        case "versioned_kv":
            history = store["history_retention_ms"]
            supplier = ps.Stores.persistent_versioned_key_value_store(name, history)
            return ps.Stores.versioned_key_value_store_builder(supplier, keys, values)
        case other:
            raise ValueError(f"unknown store kind {other!r}")
