"""``GlobalKTable``: what ``StreamsBuilder.global_table`` gives, to be joined with streams."""

from __future__ import annotations

from typing import Generic

from penstock.dsl.generics import K, V
from penstock.dsl.plan.table import GlobalTable


class GlobalKTable(Generic[K, V]):
    """A table of which every instance has all rows, whatever the partition.

    It can be joined on any key without a repartition, and queried; nothing else.
    """

    def __init__(self, table: GlobalTable) -> None:
        self._table = table

    def __repr__(self) -> str:
        return f"GlobalKTable({self._table.store_name!r})"

    @property
    def queryable_store_name(self) -> str | None:
        """The name of its store, for interactive queries."""
        return self._table.queryable_store_name
