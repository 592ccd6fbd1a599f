"""What users hold of a grouped table: every method is one call into the operator's file."""

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
from penstock.dsl.options.naming import Named, name_of
from penstock.dsl.plan.materialize import StoreOptions, materialized_of
from penstock.dsl.plan.table import Table

if TYPE_CHECKING:
    from penstock.dsl.faces.ktable import KTable


class KGroupedTable(Generic[K, V]):
    """Rows of a table under a new key, ready to be aggregated.

    A changed row is subtracted from the group it was in and added to the one it is in now.
    """

    def __init__(self, grouped: GroupedTable) -> None:
        self._grouped = grouped

    def count(
        self,
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
    ) -> KTable[K, int]:
        """Counts the rows of each group.

        Args:
            materialized: How to keep the result, or just the name of its store.
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
        """Folds the rows of each group into one value of their type.

        Args:
            adder: A function of the value so far and a row that came in.
            subtractor: A function of the value so far and a row that went out.
            materialized: How to keep the result, or just the name of its store.
            name: The name of the processors.
        """
        options = materialized_of(materialized)
        return self._of(reduce_table(self._grouped, adder, subtractor, options, name_of(name)))

    def aggregate(
        self,
        initializer: Callable[[], VOut],
        adder: Callable[[K, V, VOut], VOut],
        subtractor: Callable[[K, V, VOut], VOut],
        materialized: StoreOptions | None = None,
        name: str | Named | None = None,
        *,
        value_serde: SerdeLike[VOut] | None = None,
    ) -> KTable[K, VOut]:
        """Folds the rows of each group into one value.

        Args:
            initializer: Gives the value of an empty group.
            adder: A function of key, row and value so far, for a row that came in.
            subtractor: A function of key, row and value so far, for a row that went out.
            materialized: How to keep the result, or just the name of its store.
            name: The name of the processors.
            value_serde: The serde of the result's values.
        """
        options = materialized_of(materialized, value_serde=value_serde)
        folds = initializer, adder, subtractor
        return self._of(aggregate_table(self._grouped, *folds, options, name_of(name)))

    def _of(self, table: Table) -> KTable[Any, Any]:
        result: KTable[Any, Any] = table.graph.faces.table(table)
        return result
