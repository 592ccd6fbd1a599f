"""The named processors, for ``process``, ``process_values`` and the Processor API.

Those that run store commands from the record's value are in ``commands``. Stores are looked up when
a record needs them, not in ``init``: a store that is not connected must fail with the record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import penstock as ps
from tests.oracle import commands
from tests.oracle.functions import Registry, predicate, value_mapper
from tests.oracle.values import fmt, wrap64

#: Turns one record into the records to forward.
Transform = Callable[[Any], Sequence[Any]]


class Logic:
    """What all named processors share; ``supplier`` adds the library's base class to it."""

    kinds: Mapping[str, str] = {}

    def init(self, context: Any) -> None:
        self.context = context

    def process(self, record: Any) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Holds nothing to release."""

    def store(self, name: str) -> Any:
        return self.context.get_state_store(name)

    def is_timestamped(self, name: str) -> bool:
        """Tells whether values of the store carry timestamps; tables' stores do."""
        return self.kinds.get(name, "timestamped_kv") == "timestamped_kv"


class Stateless(Logic):
    """Forwards whatever its transform makes of each record."""

    def __init__(self, transform: Transform) -> None:
        self._transform = transform

    def process(self, record: Any) -> None:
        for each in self._transform(record):
            self.context.forward(each)


class Metadata(Logic):
    """Writes time and position of the record into its value."""

    def process(self, record: Any) -> None:
        where = self.context.record_metadata
        place = (
            " none" if where is None else f" {fmt(where.topic)}-{where.partition}/{where.offset}"
        )
        stream_time = self.context.current_stream_time_ms()
        value = f"{fmt(record.value)}@{record.timestamp} st={stream_time}{place}"
        self.context.forward(record.with_value(value))


class Route(Logic):
    """Sends even longs to one child and odd ones to another."""

    def __init__(self, rest: str) -> None:
        self._even, self._odd = rest.split(":")

    def process(self, record: Any) -> None:
        self.context.forward(record, self._even if record.value % 2 == 0 else self._odd)


class RunningTotal(Logic):
    """Keeps a long per key; None deletes it."""

    def __init__(self, store: str) -> None:
        self._name = store

    def process(self, record: Any) -> None:
        store = self.store(self._name)
        if record.value is None:
            store.delete(record.key)
            self.context.forward(record)
            return
        total = wrap64((store.get(record.key) or 0) + record.value)
        store.put(record.key, total)
        self.context.forward(record.with_value(total))


class Dedup(Logic):
    """Drops a record when its key was seen less than the time-to-live before or after."""

    def __init__(self, rest: str) -> None:
        self._name, ttl = rest.split(":")
        self._ttl_ms = int(ttl)

    def process(self, record: Any) -> None:
        store, time = self.store(self._name), record.timestamp
        with store.fetch(record.key, max(0, time - self._ttl_ms), time + self._ttl_ms) as seen:
            is_known = next(iter(seen), None) is not None
        if not is_known:
            store.put(record.key, record.value, time)
            self.context.forward(record)


class Put(Logic):
    """Writes each record to a key-value store and forwards nothing."""

    def __init__(self, store: str) -> None:
        self._name = store

    def process(self, record: Any) -> None:
        value = record.value
        if value is not None and self.is_timestamped(self._name):
            value = ps.ValueAndTimestamp(value, record.timestamp)
        self.store(self._name).put(record.key, value)


class Lookup(Logic):
    """Appends what the store holds for the key to the value."""

    def __init__(self, store: str) -> None:
        self._name = store

    def process(self, record: Any) -> None:
        stored = commands.stored_text(self.store(self._name).get(record.key))
        self.context.forward(record.with_value(f"{fmt(record.value)}|{stored}"))


class Punctuate(Logic):
    """Counts records per key; each punctuation forwards every count."""

    def __init__(self, rest: str, clock: str) -> None:
        self._name, interval = rest.split(":")
        self._interval_ms = int(interval)
        self._clock = clock

    def init(self, context: Any) -> None:
        super().init(context)
        kind = getattr(ps.PunctuationType, self._clock)
        context.schedule(self._interval_ms, kind, self._punctuate)

    def process(self, record: Any) -> None:
        store = self.store(self._name)
        store.put(record.key, wrap64((store.get(record.key) or 0) + 1))

    def _punctuate(self, time: int) -> None:
        with self.store(self._name).all() as entries:
            for key, count in entries:
                self.context.forward(ps.Record(key, count, time))


class Tick(Logic):
    """Shows record times; each punctuation forwards its own time, at most ``limit`` times."""

    def __init__(self, rest: str, clock: str) -> None:
        interval, _, limit = rest.partition(":")
        self._interval_ms = int(interval)
        self._left = int(limit) if limit else None
        self._clock = clock

    def init(self, context: Any) -> None:
        super().init(context)
        kind = getattr(ps.PunctuationType, self._clock)
        self._schedule = context.schedule(self._interval_ms, kind, self._punctuate)

    def process(self, record: Any) -> None:
        self.context.forward(record.with_value(record.timestamp))

    def _punctuate(self, time: int) -> None:
        self.context.forward(ps.Record("tick", time, time))
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                self._schedule.cancel()


class Commands(Logic):
    """Runs the value as a command on the record's key and forwards the answer as text."""

    def __init__(self, store: str, run: commands.Run) -> None:
        self._name = store
        self._run = run

    def process(self, record: Any) -> None:
        wrap = ps.ValueAndTimestamp if self.is_timestamped(self._name) else None
        answer = self._run(self.store(self._name), record, wrap)
        self.context.forward(record.with_value(answer))


def _map_value(spec: str) -> Transform:
    mapper = value_mapper(spec)
    return lambda record: [record.with_value(mapper(record.key, record.value))]


def _filter(spec: str) -> Transform:
    keep = predicate(spec)
    return lambda record: [record] if keep(record.key, record.value) else []


def _swap(record: Any) -> Sequence[Any]:
    return [ps.Record(record.value, record.key, record.timestamp, record.headers)]


def _tag_headers(rest: str) -> Transform:
    name, _, value = rest.partition(":")
    return lambda record: [record.with_headers((*record.headers, (name, value.encode())))]


def _header_value(name: str) -> Transform:
    def transform(record: Any) -> Sequence[Any]:
        found = [value for header, value in record.headers if header == name]
        value = found[-1].decode() if found and found[-1] is not None else None
        return [record.with_value(value)]

    return transform


def _shift(delta: str) -> Transform:
    return lambda record: [record.with_timestamp(record.timestamp + int(delta))]


def _command(run: commands.Run) -> Callable[[str], Callable[[], Logic]]:
    return lambda store: lambda: Commands(store, run)


#: Each spec gives a maker of fresh processors: one per task.
_maker = Registry(
    "processor",
    {
        "identity": lambda _: lambda: Stateless(lambda record: [record]),
        "map_value": lambda spec: lambda: Stateless(_map_value(spec)),
        "filter": lambda spec: lambda: Stateless(_filter(spec)),
        "swap_kv": lambda _: lambda: Stateless(_swap),
        "emit_n": lambda n: lambda: Stateless(lambda record: [record] * int(n)),
        "shift_ts": lambda n: lambda: Stateless(_shift(n)),
        "tag_headers": lambda rest: lambda: Stateless(_tag_headers(rest)),
        "drop_headers": lambda _: lambda: Stateless(lambda record: [record.with_headers(())]),
        "header_value": lambda name: lambda: Stateless(_header_value(name)),
        "metadata": lambda _: Metadata,
        "route": lambda rest: lambda: Route(rest),
        "running_total": lambda store: lambda: RunningTotal(store),
        "dedup": lambda rest: lambda: Dedup(rest),
        "put": lambda store: lambda: Put(store),
        "lookup": lambda store: lambda: Lookup(store),
        "punctuate_stream_time": lambda rest: lambda: Punctuate(rest, "STREAM_TIME"),
        "punctuate_wall_clock": lambda rest: lambda: Punctuate(rest, "WALL_CLOCK_TIME"),
        "tick_stream_time": lambda rest: lambda: Tick(rest, "STREAM_TIME"),
        "tick_wall_clock": lambda rest: lambda: Tick(rest, "WALL_CLOCK_TIME"),
        "kv_commands": _command(commands.run_kv),
        "window_commands": _command(commands.run_window),
        "session_commands": _command(commands.run_session),
        "versioned_commands": _command(commands.run_versioned),
    },
)


class _Plain(ps.Processor[Any, Any, Any, Any]):
    """Lends a ``Logic`` the library's base class."""

    def __init__(self, logic: Logic) -> None:
        self._logic = logic

    def init(self, context: Any) -> None:
        self._logic.init(context)

    def process(self, record: Any) -> None:
        self._logic.process(record)

    def close(self) -> None:
        self._logic.close()


class _FixedKey(ps.FixedKeyProcessor[Any, Any, Any]):
    """The same for ``process_values``."""

    def __init__(self, logic: Logic) -> None:
        self._logic = logic

    def init(self, context: Any) -> None:
        self._logic.init(context)

    def process(self, record: Any) -> None:
        self._logic.process(record)

    def close(self) -> None:
        self._logic.close()


class Supplier:
    """Makes the processors of one spec."""

    def __init__(self, spec: str, kinds: Mapping[str, str], *, fixed_key: bool = False) -> None:
        self._make = _maker(spec)
        self._kinds = kinds
        self._shell = _FixedKey if fixed_key else _Plain

    def __call__(self) -> Any:
        logic = self._make()
        logic.kinds = self._kinds
        return self._shell(logic)


class SupplierWithStores(Supplier):
    """A supplier that brings its own stores."""

    def __init__(
        self, spec: str, kinds: Mapping[str, str], builders: list[Any], *, fixed_key: bool = False
    ) -> None:
        super().__init__(spec, kinds, fixed_key=fixed_key)
        self._builders = builders

    def stores(self) -> list[Any]:
        return self._builders


class Transformer:
    """A table transformer: a value mapper with key, or ``store_count:STORE``."""

    def __init__(self, spec: str) -> None:
        name, _, rest = spec.partition(":")
        self._store_name = rest if name == "store_count" else None
        self._mapper = None if self._store_name else value_mapper(spec)

    def init(self, context: Any) -> None:
        self._context = context

    def transform(self, key: Any, value: Any) -> Any:
        if self._mapper is not None:
            return self._mapper(key, value)
        store = self._context.get_state_store(self._store_name)
        count = (store.get(key) or 0) + 1
        store.put(key, count)
        return f"{fmt(value)}#{count}"

    def close(self) -> None:
        """Holds nothing to release."""
