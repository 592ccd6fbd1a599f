"""A script that has been accepted, and its work outside of the catalog that remains to do."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.formats.rows import RowFormat
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.results import Outgoing, StatementResult


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a script: the catalog after it, results, and work outside of the catalog."""

    catalog: Catalog
    #: Each statement's result, and the records to write and topics to delete for it.
    done: list[tuple[StatementResult, list[Outgoing]]]
    #: Rows whose schemas must be registered.
    schemas: list[RowFormat]

    @property
    def results(self) -> list[StatementResult]:
        return [result for result, _ in self.done]

    @property
    def outgoing(self) -> list[Outgoing]:
        return [each for _, outgoing in self.done for each in outgoing]
