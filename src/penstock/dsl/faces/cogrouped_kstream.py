"""``CogroupedKStream``, the result of ``cogroup``, and its windowed forms.

The operators: ``dsl.operators.aggregations.cogroup``,
``dsl.operators.aggregations.cogroup_windows``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, overload

from penstock.dsl.faces.windowed_kstream import check_windows
from penstock.dsl.generics import V2, K, SerdeLike, VOut
from penstock.dsl.operators.aggregations.cogroup import Cogroup, aggregate_cogroup
from penstock.dsl.operators.aggregations.cogroup_windows import (
    session_aggregate_cogroup,
    sliding_aggregate_cogroup,
    window_aggregate_cogroup,
)
from penstock.dsl.options.java_arguments import names_options
from penstock.dsl.options.naming import Named, name_of
from penstock.dsl.options.stream_options import not_none
from penstock.dsl.plan.materialize import StoreOptions, materialized_of
from penstock.dsl.plan.table import Table
from penstock.model.former_names import one_spelling
from penstock.model.windows.definitions import (
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)
from penstock.model.windows.windowed import Windowed

if TYPE_CHECKING:
    from penstock.dsl.faces.kgrouped_stream import KGroupedStream
    from penstock.dsl.faces.ktable import KTable


@one_spelling
@names_options
class CogroupedKStream(Generic[K, VOut]):
    """Grouped streams, possibly of different value types, that share one aggregate per key."""

    def __init__(self, cogroup: Cogroup) -> None:
        self._cogroup = cogroup

    def cogroup(
        self, grouped: KGroupedStream[K, V2], fn: Callable[[K, V2, VOut], VOut | None]
    ) -> CogroupedKStream[K, VOut]:
        """Add a grouped stream with its ``fn(key, value, aggregate)``."""
        self._cogroup.add(not_none(grouped, "the grouped stream")._grouping, fn)
        return self

    def aggregate(
        self,
        initializer: Callable[[], VOut],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[VOut] | None = None,
    ) -> KTable[K, VOut]:
        """Aggregate all streams into one value per key.

        Args:
            initializer: Returns the first aggregate.
            materialized: Options of the store; a plain string is its name.
            name: The prefix of the names of the processors.
            key: Serde of the store's keys.
            value: Serde of the aggregates.
        """
        options = materialized_of(materialized, key=key, value=value)
        table = aggregate_cogroup(self._cogroup, initializer, options, name_of(name))
        return _face(self._cogroup, table)

    @overload
    def windowed_by(
        self, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> TimeWindowedCogroupedKStream[K, VOut]: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedCogroupedKStream[K, VOut]: ...
    def windowed_by(self, windows: Any) -> Any:
        """Aggregate per time window or per session."""
        check_windows(windows)
        if isinstance(windows, SessionWindows):
            return SessionWindowedCogroupedKStream(self._cogroup, windows)
        return TimeWindowedCogroupedKStream(self._cogroup, windows)


@one_spelling
@names_options
class TimeWindowedCogroupedKStream(Generic[K, VOut]):
    """A cogroup with time windows: tumbling, hopping, sliding or unlimited."""

    def __init__(
        self, cogroup: Cogroup, windows: TimeWindows | UnlimitedWindows | SlidingWindows
    ) -> None:
        self._cogroup = cogroup
        self._windows = windows

    def aggregate(
        self,
        initializer: Callable[[], VOut],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[VOut] | None = None,
    ) -> KTable[Windowed[K], VOut]:
        """Aggregate all streams into one value per key and window."""
        options = materialized_of(materialized, key=key, value=value)
        how = (initializer, options, name_of(name))
        if isinstance(self._windows, SlidingWindows):
            table = sliding_aggregate_cogroup(self._cogroup, self._windows, *how)
        else:
            table = window_aggregate_cogroup(self._cogroup, self._windows, *how)
        return _face(self._cogroup, table)


@one_spelling
@names_options
class SessionWindowedCogroupedKStream(Generic[K, VOut]):
    """A cogroup with session windows. Records of all streams extend a session."""

    def __init__(self, cogroup: Cogroup, windows: SessionWindows) -> None:
        self._cogroup = cogroup
        self._windows = windows

    def aggregate(
        self,
        initializer: Callable[[], VOut],
        merger: Callable[[K, VOut, VOut], VOut],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        key: SerdeLike[K] | None = None,
        value: SerdeLike[VOut] | None = None,
    ) -> KTable[Windowed[K], VOut]:
        """Aggregate all streams into one value per key and session.

        ``merger(key, first, second)`` returns the aggregate of two sessions that are merged.
        """
        options = materialized_of(materialized, key=key, value=value)
        table = session_aggregate_cogroup(
            self._cogroup, self._windows, initializer, merger, options, name_of(name)
        )
        return _face(self._cogroup, table)


def _face(cogroup: Cogroup, table: Table) -> KTable[Any, Any]:
    return cogroup.graph.faces.table(table)
