"""Errors as the prompt shows them: the message, the statement with a caret, and the fix."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rich.text import Text

from penstock.client.errors import RequestRefusedError
from penstock.errors import PenstockError
from penstock.model.sql.errors import SqlError

_WORD = re.compile(r"[\w`'\"$]+|.")
#: ksqlDB puts the place before its message; the caret says the same.
_PLACE_PREFIX = re.compile(r"^line \d+:\d+: ?")
_CODE = re.compile(r"\[([\w-]+)\] ")
_CARETS = re.compile(r"\^+")


def error_text(error: PenstockError, statement: str | None = None) -> Text:
    """Return an error in red, with a caret below the place that it names."""
    if isinstance(error, RequestRefusedError):
        return _refusal(error, statement)
    first, *rest = str(error).split("\n  fix: ", 1)
    text = Text(first, style="red")
    for fix in rest:
        text.append("\n  fix: ", style="bold").append(fix, style="not bold default")
    return text


def _refusal(error: RequestRefusedError, statement: str | None) -> Text:
    parts = _MessageParts.of(error)
    text = Text(f"[{parts.code}] {parts.text}", style="red")
    sql = error.statement or statement
    if sql and error.place is not None:
        text.append("\n").append(caret_text(sql, *error.place, parts.caret_width))
    if parts.fix:
        text.append("\n  fix: ", style="bold").append(parts.fix, style="not bold default")
    return text


@dataclass(frozen=True, slots=True)
class _MessageParts:
    """A message of the server, cut: ``[code] text``, lines with the place, ``fix: ...``."""

    code: str
    text: str
    fix: str | None
    caret_width: int | None

    @staticmethod
    def of(error: RequestRefusedError) -> _MessageParts:
        body, _, fix = error.message.partition("\n  fix: ")
        body, _, place = body.partition("\n  at:  line ")
        carets = _CARETS.search(place)
        named = _CODE.match(body)
        text = _PLACE_PREFIX.sub("", body[named.end() :] if named else body)
        return _MessageParts(
            named[1] if named else error.code,
            text.rstrip(),
            fix.strip() or error.fix,
            len(carets[0]) if carets else None,
        )


def caret_text(sql: str, line: int, column: int, width: int | None = None) -> Text:
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
    width = width or (len(found[0]) if found else 1)
    # Tabs stay tabs, so that the caret is below the right column.
    lead = "".join("\t" if c == "\t" else " " for c in shown[: column - 1])
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
