"""``KGroupedStream``, the result of ``group_by`` and ``group_by_key``.

The operators: ``dsl.operators.aggregations.aggregate``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, overload

from penstock.dsl.faces.cogrouped_kstream import CogroupedKStream
from penstock.dsl.faces.windowed_kstream import (
    SessionWindowedKStream,
    TimeWindowedKStream,
    windowed_stream,
)
from penstock.dsl.generics import K, SerdeLike, V, VOut
from penstock.dsl.operators.aggregations.aggregate import aggregate_stream, count_options
from penstock.dsl.operators.aggregations.cogroup import Cogroup
from penstock.dsl.operators.aggregations.folds import (
    Fold,
    aggregates_serde,
    counting,
    folding,
    reducing,
)
from penstock.dsl.operators.aggregations.group_by import Grouping
from penstock.dsl.options.java_arguments import names_options
from penstock.dsl.options.naming import Named, name_of
from penstock.dsl.plan.materialize import StoreOptions, materialized_of
from penstock.expr.aggregate import Aggregate
from penstock.model.former_names import one_spelling
from penstock.model.windows.definitions import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

if TYPE_CHECKING:
    from penstock.dsl.faces.ktable import KTable


@one_spelling
@names_options
class KGroupedStream(Generic[K, V]):
    """A stream grouped by key, for aggregations.

    Records without a key or a value are dropped by every aggregation that has no windows. The
    result is a table: each record updates the aggregate of its key.
    """

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping

    def count(
        self,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[int] | None = None,
    ) -> KTable[K, int]:
        """Count the records of each key.

        Args:
            materialized: Options of the store; a plain string is its name.
            name: Name of the processor.
            key: Serde of the store's keys.
            value: Serde of the counts; 8 bytes, big-endian, if not given.
        """
        options = materialized_of(
            materialized,
            key=key,
            value=value,
        )
        return self._aggregated(counting(), count_options(self._grouping, options), name)

    def reduce(
        self,
        fn: Callable[[V, V], V],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
    ) -> KTable[K, V]:
        """Reduce the values of each key to one value of the same type.

        Args:
            fn: ``(aggregate, value)`` to the new aggregate. The first value is the first
                aggregate. None deletes the aggregate.
            materialized: Options of the store; a plain string is its name.
            name: Name of the processor.
            key: Serde of the store's keys.
            value: Serde of the store's values.
        """
        options = materialized_of(
            materialized,
            key=key,
            value=value,
        )
        return self._aggregated(reducing(fn), options, name)

    def aggregate(
        self,
        initializer: Callable[[], VOut] | Aggregate | None = None,
        aggregator: Callable[[K, V, VOut], VOut | None] | None = None,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[VOut] | None = None,
        **aggregates: Aggregate,
    ) -> KTable[K, VOut]:
        """Aggregate the values of each key.

        Args:
            initializer: Returns the first aggregate; or an aggregate such as
                ``sum_(col("amount"))``.
            aggregator: ``(key, value, aggregate)`` to the new aggregate; None deletes it.
            materialized: Options of the store; a plain string is its name.
            name: Name of the processor.
            key: Serde of the store's keys.
            value: Serde of the aggregates.
            aggregates: Instead of functions: with ``total=sum_(col("amount")), n=count()`` the
                result is an object with these members, written as JSON by default.
        """
        value = value or aggregates_serde(aggregates)
        options = materialized_of(materialized, key=key, value=value)
        return self._aggregated(folding(initializer, aggregator, aggregates), options, name)

    @overload
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> TimeWindowedKStream[K, V]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedKStream[K, V]: ...
    def windowed_by(self, windows: Any) -> Any:
        """Aggregate per time window or per session."""
        return windowed_stream(self._grouping, windows)

    def cogroup(self, fn: Callable[[K, V, VOut], VOut | None]) -> CogroupedKStream[K, VOut]:
        """Start a cogroup, to which grouped streams with other value types can be added.

        Args:
            fn: ``(key, value, aggregate)`` to the new aggregate.
        """
        cogroup = Cogroup(self._grouping.graph)
        cogroup.add(self._grouping, fn)
        return CogroupedKStream(cogroup)

    def _aggregated(self, fold: Fold, options: Any, name: str | Named | None) -> KTable[Any, Any]:
        table = aggregate_stream(self._grouping, fold, options, name_of(name))
        return self._grouping.graph.faces.table(table)
