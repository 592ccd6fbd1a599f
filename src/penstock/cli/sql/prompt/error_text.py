"""Errors as the prompt shows them: the message, the statement with a caret, and the fix."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.text import Text

from penstock.client.errors import RequestRefusedError
from penstock.errors import PenstockError
from penstock.model.sql.errors import SqlError

_WORD = re.compile(r"[\w`'\"$]+|.")


def error_text(error: PenstockError, statement: str | None = None) -> Text:
    """Return an error in red, with a caret below the place that it names."""
    if not isinstance(error, RequestRefusedError):
        first, *rest = str(error).split("\n  fix: ", 1)
        return _with_fix(Text(first, style="red"), *rest)
    text = Text(f"[{error.code}] {error.message}", style="red")
    sql = error.statement or statement
    if sql and error.place is not None:
        text.append("\n").append(caret_text(sql, *error.place))
    return _with_fix(text, error.fix)


def _with_fix(text: Text, fix: str | None = None) -> Text:
    if fix:
        text.append("\n  fix: ", style="bold").append(fix, style="not bold default")
    return text


def caret_text(sql: str, line: int, column: int) -> Text:
    r"""Return the line of a statement with carets under the word at a column.

    >>> print(caret_text("SELECT *\nFORM orders;", 2, 1))
      2 | FORM orders;
        | ^^^^
    """
    lines = sql.split("\n")
    if not 1 <= line <= len(lines):
        return Text("")
    shown = lines[line - 1].rstrip("\r")
    found = _WORD.match(shown, column - 1) if column <= len(shown) else None
    width = cell_len(found[0]) if found else 1
    # Tabs stay tabs, and wide letters are two columns, so that the caret is below its word.
    lead = "".join("\t" if c == "\t" else " " * cell_len(c) for c in shown[: column - 1])
    number = str(line)
    text = Text(f"  {number} | ", style="dim").append(shown, style="not dim default")
    text.append(f"\n  {' ' * len(number)} | ", style="dim")
    return text.append(f"{lead}{'^' * width}", style="not dim bold red")


def plain_error(error: PenstockError, statement: str | None = None) -> dict[str, object]:
    """Return an error as JSON."""
    found: dict[str, object] = {"code": error.code, "message": error.message}
    if isinstance(error, RequestRefusedError):
        found |= {"error_code": error.error_code, "statement": error.statement or statement}
        if error.place is not None:
            found |= {"line": error.place[0], "column": error.place[1]}
    elif isinstance(error, SqlError) and error.line is not None:
        found |= {"line": error.line, "column": error.column}
    if error.fix:
        found["fix"] = error.fix
    return {"error": found}
