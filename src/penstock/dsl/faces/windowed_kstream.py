"""``TimeWindowedKStream`` and ``SessionWindowedKStream``, the results of ``windowed_by``.

The operators are in ``dsl.operators.aggregations``: ``window_aggregate``, ``sliding_aggregate`` and
``session_aggregate``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

from penstock.dsl.generics import K, SerdeLike, V, VOut
from penstock.dsl.operators.aggregations.aggregate import count_options
from penstock.dsl.operators.aggregations.folds import (
    Fold,
    aggregates_serde,
    counting,
    folding,
    folding_sessions,
    reducing,
)
from penstock.dsl.operators.aggregations.group_by import Grouping
from penstock.dsl.operators.aggregations.session_aggregate import session_aggregate_stream
from penstock.dsl.operators.aggregations.sliding_aggregate import sliding_aggregate_stream
from penstock.dsl.operators.aggregations.window_aggregate import window_aggregate_stream
from penstock.dsl.options.emit_strategy import EmitStrategy, idle_time
from penstock.dsl.options.java_arguments import names_options
from penstock.dsl.options.naming import Named, name_of
from penstock.dsl.plan.materialize import StoreOptions, materialized_of
from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.expr.aggregate import Aggregate
from penstock.model.former_names import one_spelling
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration
from penstock.model.windows.definitions import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)
from penstock.model.windows.windowed import Windowed

if TYPE_CHECKING:
    from penstock.dsl.faces.ktable import KTable


@one_spelling
@names_options
class TimeWindowedKStream(Generic[K, V]):
    """A grouped stream with time windows: tumbling, hopping, sliding or unlimited.

    A late record still counts if its window is within the grace period. Keys of the result are
    ``Windowed``.
    """

    def __init__(
        self,
        grouping: Grouping,
        windows: TimeWindows | UnlimitedWindows | SlidingWindows,
        emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
        idle_ms: int | None = None,
    ) -> None:
        self._grouping = grouping
        self._windows = windows
        self._emit = emit
        self._idle_ms = idle_ms

    def emit_strategy(
        self, strategy: EmitStrategy | str, *, idle: Duration | None = None
    ) -> TimeWindowedKStream[K, V]:
        """Emit each window with every update (default), or once, when it closes.

        Args:
            idle: Only for final results. If no record has moved stream time for this duration, the
                wall clock moves it, so that windows of a quiet stream close, too. A record for a
                window that was closed in this way is late. Without it, only records close windows.
        """
        strategy = EmitStrategy(strategy)
        if strategy.is_final and isinstance(self._windows, UnlimitedWindows):
            raise InvalidArgumentError(
                "window-never-closes",
                "unlimited windows never close, so they cannot emit on window close",
                fix="use on_window_update, or windows that end",
                at=caller_site(),
            )
        idle_ms = idle_time(strategy, idle)
        return TimeWindowedKStream(self._grouping, self._windows, strategy, idle_ms)

    def count(
        self,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[int] | None = None,
    ) -> KTable[Windowed[K], int]:
        """Count the records per key and window. Arguments are those of ``KGroupedStream.count``."""
        given = materialized_of(
            materialized,
            key=key,
            value=value,
        )
        skips_number = not isinstance(self._windows, SlidingWindows)
        options = count_options(self._grouping, given, skips_number=skips_number)
        return self._aggregated(counting(), options, name)

    def reduce(
        self,
        fn: Callable[[V, V], V],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
    ) -> KTable[Windowed[K], V]:
        """Reduce the values per key and window with ``(aggregate, value)`` to the new aggregate."""
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
    ) -> KTable[Windowed[K], VOut]:
        """Aggregate the values per key and window with ``(key, value, aggregate)``.

        Named aggregates may be given instead: ``total=sum_(col("amount")), n=count()``.
        """
        value = value or aggregates_serde(aggregates)
        options = materialized_of(materialized, key=key, value=value)
        return self._aggregated(folding(initializer, aggregator, aggregates), options, name)

    def _aggregated(self, fold: Fold, options: Any, name: str | Named | None) -> KTable[Any, Any]:
        how = (self._emit, fold, options, name_of(name), self._idle_ms)
        if isinstance(self._windows, SlidingWindows):
            table = sliding_aggregate_stream(self._grouping, self._windows, *how)
        else:
            table = window_aggregate_stream(self._grouping, self._windows, *how)
        return self._grouping.graph.faces.table(table)


@one_spelling
@names_options
class SessionWindowedKStream(Generic[K, V]):
    """A grouped stream with session windows, which are separated by gaps without records.

    A record between two sessions merges them. Keys of the result are ``Windowed``.
    """

    def __init__(
        self,
        grouping: Grouping,
        windows: SessionWindows,
        emit: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
        idle_ms: int | None = None,
    ) -> None:
        self._grouping = grouping
        self._windows = windows
        self._emit = emit
        self._idle_ms = idle_ms

    def emit_strategy(
        self, strategy: EmitStrategy | str, *, idle: Duration | None = None
    ) -> SessionWindowedKStream[K, V]:
        """Emit each session with every update (default), or once, when it closes.

        Args:
            idle: Only for final results. If no record has moved stream time for this duration, the
                wall clock moves it, so that windows of a quiet stream close, too. A record for a
                window that was closed in this way is late. Without it, only records close windows.
        """
        strategy = EmitStrategy(strategy)
        idle_ms = idle_time(strategy, idle)
        return SessionWindowedKStream(self._grouping, self._windows, strategy, idle_ms)

    def count(
        self,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[int] | None = None,
    ) -> KTable[Windowed[K], int]:
        """Count the records per key and session; arguments as in ``KGroupedStream.count``."""
        given = materialized_of(
            materialized,
            key=key,
            value=value,
        )
        return self._aggregated(counting(), count_options(self._grouping, given), name)

    def reduce(
        self,
        fn: Callable[[V, V], V],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
    ) -> KTable[Windowed[K], V]:
        """Reduce the values per key and session. The reducer also merges sessions."""
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
        merger: Callable[[K, VOut, VOut], VOut] | None = None,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[VOut] | None = None,
        **aggregates: Aggregate,
    ) -> KTable[Windowed[K], VOut]:
        """Aggregate the values per key and session.

        Args:
            initializer: Returns the first aggregate; or an aggregate such as
                ``sum_(col("amount"))``.
            aggregator: ``(key, value, aggregate)`` to the new aggregate.
            merger: ``(key, first, second)`` to the aggregate of two merged sessions.
            materialized: Options of the store; a plain string is its name.
            name: Name of the processor.
            key: Serde of the store's keys.
            value: Serde of the aggregates.
            aggregates: Instead of functions: with ``total=sum_(col("amount")), n=count()`` the
                result is an object with these members, written as JSON by default.
        """
        value = value or aggregates_serde(aggregates)
        options = materialized_of(materialized, key=key, value=value)
        fold = folding_sessions(initializer, aggregator, merger, aggregates)
        return self._aggregated(fold, options, name)

    def _aggregated(self, fold: Fold, options: Any, name: str | Named | None) -> KTable[Any, Any]:
        table = session_aggregate_stream(
            self._grouping, self._windows, self._emit, fold, options, name_of(name), self._idle_ms
        )
        return self._grouping.graph.faces.table(table)


def windowed_stream(grouping: Grouping, windows: Any) -> Any:
    """Return the windowed stream for the kind of windows."""
    check_windows(windows)
    if isinstance(windows, SessionWindows):
        return SessionWindowedKStream(grouping, windows)
    return TimeWindowedKStream(grouping, windows)


def check_windows(windows: object) -> None:
    """Refuse an object that does not define windows of an aggregation."""
    if windows is None:
        raise NullArgumentError("missing-argument", "windows is None", at=caller_site())
    if not isinstance(windows, TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows):
        raise InvalidArgumentError(
            "bad-windows",
            f"{windows!r} does not define windows of an aggregation",
            fix="give TimeWindows, SlidingWindows, SessionWindows or UnlimitedWindows",
            at=caller_site(),
        )
