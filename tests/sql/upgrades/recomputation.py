"""What a script should have written, computed in plain Python: one spec, records in, rows out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Row = dict[str, Any]
#: A key (with the start of its window, if it has one), and the row or a tombstone.
Written = tuple[Any, Row | None]


class Order(NamedTuple):
    """A record of the input."""

    id: int
    item: str
    region: str
    price: int
    time: int


@dataclass(frozen=True)
class Grouped:
    """A table: rows that pass ``where``, in groups, folded into ``columns``."""

    columns: tuple[tuple[str, Callable[[list[Order]], Any]], ...]
    where: Callable[[Order], bool] = lambda order: True
    group: Callable[[Order], Any] = lambda order: order.item
    having: Callable[[list[Order]], bool] = lambda orders: True
    window_ms: int | None = None


@dataclass(frozen=True)
class Mapped:
    """A stream: each row that passes ``where``, with other columns."""

    columns: tuple[tuple[str, Callable[[Order], Any]], ...]
    where: Callable[[Order], bool] = lambda order: True
    key: Callable[[Order], Any] = lambda order: order.id


@dataclass
class Recomputation:
    """The rows of a query. Groups keep the orders themselves, so that nothing is folded away."""

    groups: dict[Any, list[Order]] = field(default_factory=dict)

    def rows(self, spec: Grouped | Mapped, orders: Sequence[Order]) -> list[Written]:
        """Return what the records make the query write, and keep what they leave behind."""
        return [row for order in orders if spec.where(order) for row in self._rows(spec, order)]

    def _rows(self, spec: Grouped | Mapped, order: Order) -> list[Written]:
        if isinstance(spec, Mapped):
            return [(spec.key(order), {name: make(order) for name, make in spec.columns})]
        key = spec.group(order)
        if spec.window_ms is not None:
            key = key, order.time - order.time % spec.window_ms
        members = self.groups.setdefault(key, [])
        was_there = bool(members) and spec.having(members)
        members.append(order)
        if spec.having(members):
            return [(key, {name: fold(members) for name, fold in spec.columns})]
        return [(key, None)] if was_there else []
