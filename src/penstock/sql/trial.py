"""A script that has been accepted, and what is left to do for it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.formats.rows import RowFormat
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.results import Outgoing, StatementResult


@dataclass(frozen=True, slots=True)
class Trial:
    """What a script gives: the catalog after it, results, and work outside of the catalog."""

    catalog: Catalog
    #: Each statement's result, and what it wants done to topics.
    done: list[tuple[StatementResult, list[Outgoing]]]
    #: Rows whose schemas the registry must have.
    schemas: list[RowFormat]

    @property
    def results(self) -> list[StatementResult]:
        return [result for result, _ in self.done]

    @property
    def outgoing(self) -> list[Outgoing]:
        return [each for _, outgoing in self.done for each in outgoing]
