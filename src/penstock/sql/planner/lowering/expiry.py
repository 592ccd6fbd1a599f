"""ROW_TTL: deletes rows of a table when their time to live is over."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.model.record import FixedKeyRecord
from penstock.processor.processor import FixedKeyProcessor
from penstock.serde.base import Serde
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.lowering.rows import row_serde
from penstock.state.stores import Stores

_LONG = Struct(">q")


def expiring(
    stream: KStream[Any, Any], source: DataSource, lowering: Lowering
) -> KStream[Any, Any]:
    """Add a tombstone for each row whose time to live is over."""
    assert source.ttl_ms is not None
    keys = row_serde([column.type for column in source.schema.key])
    deadlines = Stores.key_value_store_builder(
        Stores.persistent_key_value_store(f"{source.name}-Expiry-Deadlines"), keys, "long"
    )
    order = Stores.key_value_store_builder(
        Stores.persistent_key_value_store(f"{source.name}-Expiry-Order"), _Deadline(keys), "long"
    )
    lowering.builder.add_state_store(deadlines).add_state_store(order)
    names, ttl_ms = (deadlines.name, order.name), source.ttl_ms
    return stream.process_values(lambda: _Expire(names, ttl_ms), *names)


@dataclass(frozen=True)
class _Deadline(Serde[tuple[int, Row]]):
    """A time and a key; the serialized form sorts by time."""

    keys: Serde[Any]

    def encode(self, value: tuple[int, Row]) -> bytes:
        return _LONG.pack(value[0]) + self.keys.encode(value[1])

    def decode(self, data: bytes) -> tuple[int, Row]:
        return _LONG.unpack_from(data)[0], self.keys.decode(data[_LONG.size :])


class _Expire(FixedKeyProcessor[Any, Any, Any]):
    """Forwards records, and a tombstone for each row whose deadline stream time has passed.

    A tombstone has another key than the record that triggers it, but a key of the same partition,
    so equal keys stay together.
    """

    def __init__(self, stores: tuple[str, str], ttl_ms: int) -> None:
        self._stores = stores
        self._ttl_ms = ttl_ms

    def process(self, record: FixedKeyRecord[Any, Any]) -> None:
        deadlines, order = (self.context.get_state_store(name) for name in self._stores)
        now = self.context.current_stream_time_ms()
        for deadline, key in self._expired(order, now):
            order.delete((deadline, key))
            deadlines.delete(key)
            self.context.forward(FixedKeyRecord(key, None, deadline, ()))
        if record.key is None:
            self.context.forward(record)
            return
        before = deadlines.get(record.key)
        if before is not None:
            order.delete((before, record.key))
        deadline = record.timestamp + self._ttl_ms
        if record.value is None or deadline <= now:
            deadlines.delete(record.key)
            if record.value is None or before is not None:
                self.context.forward(record.with_value(None))
            return
        deadlines.put(record.key, deadline)
        order.put((deadline, record.key), deadline)
        self.context.forward(record)

    def _expired(self, order: Any, now: int) -> list[tuple[int, Row]]:
        found: list[tuple[int, Row]] = []
        with order.all() as entries:
            for at, _ in entries:
                if at[0] > now:
                    break
                found.append(at)
        return found
