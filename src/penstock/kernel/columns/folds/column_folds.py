"""Folds columns: per key, in the order of the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from penstock.expr.aggregate import Aggregate
from penstock.expr.aggregates import NamedAggregates, SingleAggregate
from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.evaluate import evaluated
from penstock.kernel.columns.grouping import Groups
from penstock.model.column_function import ColumnAggregator
from penstock.model.user_code import user_code

#: What a state becomes when it is written to its store and read again.
Through = Callable[[Any], Any]
#: What is folded: one column per aggregate.
Items = Sequence[Sequence[Any]]


class ColumnFold(Protocol):
    """Folds records into the states of their groups. A group has one row in the store."""

    @property
    def is_order_free(self) -> bool:
        """Whether the order of the records does not change the states."""

    def start(self) -> Any:
        """Return the state of a group without records."""

    def items(self, batch: Batch) -> Items:
        """Return the columns of the batch that are folded, one per aggregate."""

    def finals(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> Sequence[Any]:
        """Return the state of each group after all records; the fold may change the list of states.

        ``through`` is applied to a state between two records. ``None`` means that the store returns
        states as they are.
        """

    def running(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> list[Any]:
        """Return the state after each record, and leave each group's last state in the list."""


class CountFold:
    """Counts records."""

    is_order_free: ClassVar[bool] = True

    def start(self) -> int:
        return 0

    def items(self, batch: Batch) -> Items:
        return []

    def finals(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> Sequence[Any]:
        sizes = groups.sizes().tolist()
        return [state + size for state, size in zip(states, sizes, strict=True)]

    def running(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> list[Any]:
        result = []
        for code in groups.codes.tolist():
            states[code] += 1
            result.append(states[code])
        return result


@dataclass(frozen=True, slots=True)
class ExpressionFold:
    """Folds one aggregate over an expression; the state is its value."""

    is_order_free: ClassVar[bool] = False
    single: SingleAggregate

    def start(self) -> Any:
        return self.single.initialize()

    def items(self, batch: Batch) -> Items:
        return [evaluated(self.single.only.of, batch.keys, batch.values)]

    def finals(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> Sequence[Any]:
        if through is None and (self.start() is not None or None not in items[0]):
            _fold(self.single.only, items[0], groups, states)
        else:
            check_known(_fold_running(self.single.only, items[0], groups, states, through))
        return states

    def running(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> list[Any]:
        return _fold_running(self.single.only, items[0], groups, states, through)


@dataclass(frozen=True, slots=True)
class NamedFold:
    """Folds several aggregates side by side; the state is a dict with one member for each."""

    is_order_free: ClassVar[bool] = False
    named: NamedAggregates

    def start(self) -> Any:
        return self.named.initialize()

    def items(self, batch: Batch) -> Items:
        aggregates = self.named.named.values()
        return [evaluated(each.of, batch.keys, batch.values) for each in aggregates]

    def finals(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> Sequence[Any]:
        named = self.named.named
        members = _members(named, states)
        for (name, aggregate), column in zip(named.items(), items, strict=True):
            _fold(aggregate, column, groups, members[name])
        rows = zip(*members.values(), strict=True)
        return [_updated(s, named, row) for s, row in zip(states, rows, strict=True)]

    def running(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> list[Any]:
        named = self.named.named
        members = _members(named, states)
        results = [
            _fold_running(aggregate, column, groups, members[name])
            for (name, aggregate), column in zip(named.items(), items, strict=True)
        ]
        codes, rows = groups.codes.tolist(), zip(*results, strict=True)
        changed = [_updated(states[c], named, row) for c, row in zip(codes, rows, strict=True)]
        for code, state in zip(codes, changed, strict=True):
            states[code] = state
        return changed


@dataclass(frozen=True, slots=True)
class ReduceFold:
    """Folds with a reducer that depends on its arguments alone."""

    is_order_free: ClassVar[bool] = False
    reducer: Callable[[Any, Any], Any]

    def start(self) -> None:
        return None

    def items(self, batch: Batch) -> Items:
        return [batch.values.values()]

    def finals(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> Sequence[Any]:
        check_known(self.running(items, groups, states, through))
        return states

    def running(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> list[Any]:
        reducer, result = self.reducer, []
        with user_code("a reducer"):
            for code, value in zip(groups.codes.tolist(), items[0], strict=True):
                state = states[code]
                state = value if state is None else reducer(state, value)
                states[code] = state if through is None else through(state)
                result.append(state)
        return result


@dataclass(frozen=True, slots=True)
class AggregatorFold:
    """Folds with a ``ColumnAggregator``, which depends on value and state alone."""

    initializer: Callable[[], Any]
    aggregator: ColumnAggregator

    @property
    def is_order_free(self) -> bool:
        return self.aggregator.is_order_free

    def start(self) -> Any:
        with user_code("an initializer"):
            return self.initializer()

    def items(self, batch: Batch) -> Items:
        return [batch.values.values()]

    def finals(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> Sequence[Any]:
        check_known(self.running(items, groups, states, through))
        return states

    def running(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> list[Any]:
        step, result = self.aggregator.func, list[Any]()
        with user_code("an aggregator"):
            for code, item in zip(groups.codes.tolist(), items[0], strict=True):
                state = step(None, item, states[code])
                result.append(state)
                states[code] = state if through is None else through(state)
        return result


def check_known(states: Sequence[Any]) -> None:
    """Raise if a state is ``None``, which deletes its row.

    The next record then starts a new row with its own timestamp. That is left to the record
    executor.
    """
    if any(state is None for state in states):
        raise NotProvenError("an aggregate is None")


def _fold(aggregate: Aggregate, items: Sequence[Any], groups: Groups, states: list[Any]) -> None:
    step = aggregate.step
    with user_code(aggregate.name):
        for code, item in zip(groups.codes.tolist(), items, strict=True):
            if item is not None:
                states[code] = step(states[code], item)


def _fold_running(
    aggregate: Aggregate,
    items: Sequence[Any],
    groups: Groups,
    states: list[Any],
    through: Through | None = None,
) -> list[Any]:
    step, result = aggregate.step, []
    with user_code(aggregate.name):
        for code, item in zip(groups.codes.tolist(), items, strict=True):
            state = states[code]
            if item is not None:
                state = step(state, item)
            result.append(state)
            states[code] = state if through is None or state is None else through(state)
    return result


def _members(names: Iterable[str], states: list[Any]) -> dict[str, list[Any]]:
    # A state that another version of the program has written may lack a member.
    with user_code("the store's serde"):
        return {name: [state[name] for state in states] for name in names}


def _updated(state: Any, names: Any, values: tuple[Any, ...]) -> dict[str, Any]:
    # A state that another version of the program has written may have more members. They stay.
    return {**state, **dict(zip(names, values, strict=True))}
