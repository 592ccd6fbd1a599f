"""A statement that was parsed once, for everything that is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.sql.ast.statements import Statement
from penstock.sql.syntax.parser import parse_statement


@dataclass(frozen=True, slots=True)
class Analysed:
    """One statement: its text, and the tree that the text means with the variables in force.

    It travels from the check of a request to the command that the request writes, and to the node
    that runs the command.
    """

    statement: Statement
    text: str

    @staticmethod
    def of(text: str, variables: Mapping[str, str]) -> Analysed:
        """Parse the text of one statement.

        Raises:
            SqlError: what is wrong, with line, column and the text at fault.
        """
        return Analysed(parse_statement(text, variables), text)
