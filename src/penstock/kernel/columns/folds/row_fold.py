"""Folds several aggregates over rows that are columns: each takes its own fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, repeat
from typing import Any

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.folds.column_folds import AggregatorFold, Items, Through
from penstock.kernel.columns.grouping import Groups
from penstock.model.columns.row_columns import RowColumns
from penstock.model.field_fold import FieldFold
from penstock.model.user_code import user_code

_UNCHANGING = (bool, bytes, float, int, str, type(None))


@dataclass(frozen=True, slots=True)
class RowFold:
    """Folds rows. The state of a group is a tuple with an item per aggregate.

    Before the first record of a group, its state is ``None``. ``whole`` folds row by row. It is
    used if the store changes states between two records.
    """

    parts: tuple[FieldFold, ...]
    whole: AggregatorFold

    @property
    def is_order_free(self) -> bool:
        return self.whole.is_order_free

    def start(self) -> None:
        return None

    def items(self, batch: Batch) -> Items:
        rows = batch.values.values()
        if isinstance(rows, RowColumns):
            return rows.columns()
        return [*zip(*rows, strict=True)]

    def finals(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> Sequence[Any]:
        if through is not None:
            return self.whole.finals([_rows(items, groups)], groups, states, through)
        members = self._members(states)
        for place, part in enumerate(self.parts):
            if part.over_columns is None:
                _fold(part, items[part.fields], groups, members[place])
                continue
            try:
                part.over_columns(members[place], groups.codes, items[part.fields])
            except Exception:
                # An error that no single step has is a fault of the column form.
                _fold(part, items[part.fields], groups, self._members(states)[place])
                raise
        return RowColumns(members, len(states))

    def running(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> list[Any]:
        if through is not None:
            return self.whole.running([_rows(items, groups)], groups, states, through)
        members = self._members(states)
        found = [
            _fold(part, items[part.fields], groups, member)
            for part, member in zip(self.parts, members, strict=True)
        ]
        states[:] = zip(*members, strict=True)
        return [*zip(*found, strict=True)]

    def _members(self, states: list[Any]) -> list[list[Any]]:
        if not any(states):
            return [_starts(part, len(states)) for part in self.parts]
        return [
            [first if state is None else state[place] for state, first in zip(states, firsts)]  # noqa: B905
            for place, firsts in enumerate(map(_firsts, self.parts))
        ]


def _firsts(part: FieldFold) -> Iterator[Any]:
    """Return states of groups without records; each group gets its own copy of a mutable one."""
    first = part.start()
    if isinstance(first, _UNCHANGING):
        return repeat(first)
    return (part.start() for _ in count())


def _starts(part: FieldFold, groups: int) -> list[Any]:
    return [*islice(_firsts(part), groups)]


def _rows(items: Items, groups: Groups) -> Sequence[Any]:
    return [*zip(*items, strict=True)] if items else [()] * len(groups.codes)


def _fold(part: FieldFold, columns: Items, groups: Groups, states: list[Any]) -> list[Any]:
    """Fold record by record; return the state after each."""
    step, result = part.step, []
    rows = _rows(columns, groups)
    with user_code("an aggregator"):
        for code, values in zip(groups.codes.tolist(), rows, strict=True):
            states[code] = step(states[code], *values)
            result.append(states[code])
    return result
