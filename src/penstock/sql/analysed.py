"""A statement that was parsed and planned once, for everything that is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.sql.ast.statements import Statement
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.syntax.parser import parse_statement
from penstock.sql.trial import Trial


@dataclass(frozen=True, slots=True)
class Planned:
    """What a statement does over one catalog, with one number at the end of the ids of queries.

    It does not hold for another catalog: a command of another node may have come in between.
    """

    base: Catalog
    number: int | None
    trial: Trial

    def holds(self, base: Catalog, number: int | None) -> bool:
        """Return whether a catalog is the one that the statement was planned over."""
        return self.base is base and self.number == number


@dataclass(frozen=True, slots=True)
class Analysed:
    """One statement: its text, and the tree that the text means with the variables in force.

    It travels from the check of a request to the command that the request writes, and to the node
    that runs the command.
    """

    statement: Statement
    text: str
    #: What it does, if it has been planned.
    planned: Planned | None = None

    @staticmethod
    def of(text: str, variables: Mapping[str, str]) -> Analysed:
        """Parse the text of one statement.

        Raises:
            SqlError: what is wrong, with line, column and the text at fault.
        """
        return Analysed(parse_statement(text, variables), text)
