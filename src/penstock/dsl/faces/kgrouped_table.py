"""``KGroupedTable``, the result of ``KTable.group_by``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

from penstock.dsl.generics import K, SerdeLike, V, VOut
from penstock.dsl.operators.aggregations.table_aggregate import (
    aggregate_table,
    count_table,
    reduce_table,
)
from penstock.dsl.operators.aggregations.table_group_by import GroupedTable
from penstock.dsl.options.java_arguments import names_options
from penstock.dsl.options.naming import Named, name_of
from penstock.dsl.plan.materialize import StoreOptions, materialized_of
from penstock.dsl.plan.table import Table
from penstock.model.former_names import one_spelling

if TYPE_CHECKING:
    from penstock.dsl.faces.ktable import KTable


@one_spelling
@names_options
class KGroupedTable(Generic[K, V]):
    """A table grouped by a new key, for aggregations.

    For a changed row, the old row is subtracted from its group and the new one is added to its
    group.
    """

    def __init__(self, grouped: GroupedTable) -> None:
        self._grouped = grouped

    def count(
        self,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
    ) -> KTable[K, int]:
        """Count the rows of each group.

        Args:
            materialized: Options of the result's store, or only its name.
            name: The name of the processors.
        """
        options = materialized_of(materialized)
        return self._of(count_table(self._grouped, options, name_of(name)))

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
    ) -> KTable[K, V]:
        """Reduce the rows of each group to one value of the same type.

        Args:
            adder: ``(aggregate, row)`` to the new aggregate, for a row that was added.
            subtractor: ``(aggregate, row)`` to the new aggregate, for a row that was removed.
            materialized: Options of the result's store, or only its name.
            name: The name of the processors.
        """
        options = materialized_of(materialized)
        return self._of(reduce_table(self._grouped, adder, subtractor, options, name_of(name)))

    def aggregate(
        self,
        initializer: Callable[[], VOut],
        adder: Callable[[K, V, VOut], VOut | None],
        subtractor: Callable[[K, V, VOut], VOut | None],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        value: SerdeLike[VOut] | None = None,
    ) -> KTable[K, VOut]:
        """Aggregate the rows of each group.

        Args:
            initializer: Returns the aggregate of an empty group.
            adder: ``(key, row, aggregate)`` to the new aggregate, for a row that was added.
            subtractor: ``(key, row, aggregate)`` to the new aggregate, for a row that was removed.
            materialized: Options of the result's store, or only its name.
            name: The name of the processors.
            value: The serde of the result's values.
        """
        options = materialized_of(materialized, value=value)
        folds = initializer, adder, subtractor
        return self._of(aggregate_table(self._grouped, *folds, options, name_of(name)))

    def _of(self, table: Table) -> KTable[Any, Any]:
        result: KTable[Any, Any] = table.graph.faces.table(table)
        return result
