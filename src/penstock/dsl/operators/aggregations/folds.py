"""The functions of aggregations: those of the user, or those of ``count`` and ``reduce``.

All of them can be pickled: the topology is sent to Spark's workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.dsl.operators.arity import check_arity
from penstock.dsl.operators.returns import check_function
from penstock.errors import InvalidArgumentError
from penstock.expr.aggregate import Aggregate
from penstock.expr.aggregates import (
    NamedAggregates,
    SingleAggregate,
    count_merge,
    count_start,
    count_step,
)
from penstock.expr.expression import Expression
from penstock.model.column_function import MadeOf
from penstock.model.site import caller_site
from penstock.processor.store_fold import StoreFold
from penstock.serde.serdes import Serdes
from penstock.state.spec import StoreSpec

Initializer = Callable[[], Any]
Aggregator = Callable[[Any, Any, Any], Any]
Reducer = Callable[[Any, Any], Any]
Merger = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Fold:
    """The functions from values to an aggregate and, for sessions, of merging two aggregates.

    ``prefix`` is the start of generated names. ``reducer`` is set for a reduction.
    """

    initializer: Initializer
    aggregator: Aggregator
    merger: Merger | None = None
    reducer: Reducer | None = None
    prefix: str = "KSTREAM-AGGREGATE-"

    @property
    def stores(self) -> tuple[StoreSpec, ...]:
        """Return the stores that the aggregator needs besides that of its results."""
        return stores_of(self.aggregator)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Return what is aggregated, if it is expressions and not functions of the user."""
        match getattr(self.aggregator, "__self__", None):
            case SingleAggregate(only=only):
                return (only.of,)
            case NamedAggregates(named=named):
                return tuple(each.of for each in named.values())
            case _:
                return ()


def stores_of(aggregator: Aggregator) -> tuple[StoreSpec, ...]:
    """Return the stores that an aggregator needs besides that of its results."""
    return (aggregator.spec,) if isinstance(aggregator, StoreFold) else ()


def counting() -> Fold:
    return Fold(count_start, count_step, count_merge)


def reducing(reducer: Reducer) -> Fold:
    check_function("reduce", "reducer", reducer, "aggregate", "value")
    aggregator = ReduceStep(reducer)
    return Fold(_nothing, aggregator, ReduceMerge(aggregator), reducer, "KSTREAM-REDUCE-")


def aggregating(initializer: Initializer, aggregator: Aggregator) -> Fold:
    check_initializer(initializer)
    check_aggregator("aggregate", aggregator)
    return Fold(initializer, aggregator)


def aggregating_sessions(initializer: Initializer, aggregator: Aggregator, merger: Merger) -> Fold:
    check_initializer(initializer)
    check_aggregator("aggregate", aggregator)
    check_merger(merger)
    return Fold(initializer, aggregator, merger)


def folding(
    initializer: Initializer | Aggregate | None,
    aggregator: Aggregator | None,
    aggregates: Mapping[str, Aggregate],
) -> Fold:
    """Return the fold of the user's functions, or of one or several aggregate expressions."""
    if not aggregates and not isinstance(initializer, Aggregate):
        return aggregating(initializer, aggregator)  # type: ignore[arg-type]
    built_in = _built_in(aggregates, initializer, aggregator)
    return Fold(built_in.initialize, built_in.aggregate)


def folding_sessions(
    initializer: Initializer | Aggregate | None,
    aggregator: Aggregator | None,
    merger: Merger | None,
    aggregates: Mapping[str, Aggregate],
) -> Fold:
    """Return the fold for sessions, with the function that merges two of them."""
    if not aggregates and not isinstance(initializer, Aggregate):
        return aggregating_sessions(initializer, aggregator, merger)  # type: ignore[arg-type]
    built_in = _built_in(aggregates, initializer, aggregator, merger)
    return Fold(built_in.initialize, built_in.aggregate, built_in.merge)


def aggregates_serde(aggregates: Mapping[str, Aggregate]) -> Any:
    """Return the serde of named aggregates: JSON unless the user gives one."""
    return Serdes.json() if aggregates else None


def _built_in(
    aggregates: Mapping[str, Any], first: Any, *functions: Any
) -> NamedAggregates | SingleAggregate:
    if not isinstance(first, Aggregate):
        return _named(aggregates, first, *functions)
    if aggregates or any(function is not None for function in functions):
        raise InvalidArgumentError(
            "bad-aggregate",
            f"aggregate is given {first.name!r} without a name and something else as well",
            fix="give one aggregate alone, or a name to each: total=sum_(col('amount'))",
            at=caller_site(),
        )
    return SingleAggregate(first)


def _named(aggregates: Mapping[str, Any], *functions: Any) -> NamedAggregates:
    wrong = [name for name, each in aggregates.items() if not isinstance(each, Aggregate)]
    if wrong or any(function is not None for function in functions):
        what = f"{wrong[0]}={aggregates[wrong[0]]!r}" if wrong else "functions as well"
        raise InvalidArgumentError(
            "bad-aggregate",
            f"aggregate is given named aggregates and {what}",
            fix="give functions, or named aggregates such as total=sum_(col('amount'))",
            at=caller_site(),
        )
    return NamedAggregates(aggregates)


def check_initializer(initializer: Initializer) -> None:
    check_arity("aggregate", "initializer", initializer)


def check_aggregator(operator: str, aggregator: Aggregator) -> None:
    check_function(operator, "aggregator", aggregator, "key", "value", "aggregate")


def check_merger(merger: Merger) -> None:
    check_function("aggregate", "merger", merger, "key", "first", "second")


@dataclass(frozen=True, slots=True)
class ReduceStep(MadeOf):
    """A reducer as an aggregator: the first value is the first aggregate."""

    reducer: Reducer

    def __call__(self, key: Any, value: Any, aggregate: Any) -> Any:
        return value if aggregate is None else self.reducer(aggregate, value)

    def parts(self) -> tuple[Callable[..., Any], ...]:
        return (self.reducer,)


@dataclass(frozen=True, slots=True)
class ReduceMerge(MadeOf):
    """A reducer as the merger of two sessions: it adds the second to the first."""

    aggregator: ReduceStep

    def __call__(self, key: Any, first: Any, second: Any) -> Any:
        return self.aggregator(key, second, first)

    def parts(self) -> tuple[Callable[..., Any], ...]:
        return self.aggregator.parts()


def _nothing() -> None:
    return None
