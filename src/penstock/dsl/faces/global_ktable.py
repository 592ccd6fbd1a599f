"""``GlobalKTable``, the result of ``StreamsBuilder.global_table``, for joins with streams."""

from __future__ import annotations

from typing import Generic

from penstock.dsl.generics import K, V
from penstock.dsl.plan.table import GlobalTable


class GlobalKTable(Generic[K, V]):
    """A table whose rows of all partitions are on every instance.

    It can be joined on any key without a repartition, and it can be queried.
    """

    def __init__(self, table: GlobalTable) -> None:
        self._table = table

    def __repr__(self) -> str:
        return f"GlobalKTable({self._table.store_name!r})"

    @property
    def queryable_store_name(self) -> str | None:
        """Return the name of the store, for interactive queries."""
        return self._table.queryable_store_name
