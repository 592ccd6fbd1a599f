"""Errors of the SQL layer: what is wrong, and the line and column of the SQL at fault."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from penstock.errors import PenstockError
from penstock.model.sql.span import Span


class SqlError(PenstockError):
    """A statement cannot be run. ``with_source`` adds the SQL text, so that the message shows it.

    It takes plain positional arguments, so that it can be pickled.
    """

    def __init__(
        self,
        code: str,
        message: str,
        fix: str | None = None,
        at: str | None = None,
        span: Span | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(code, message, fix, at)
        self.args = (code, message, fix, at, span, source)
        self.span = span
        self.source = source

    @property
    def line(self) -> int | None:
        return self.span.line if self.span else None

    @property
    def column(self) -> int | None:
        return self.span.column if self.span else None

    def with_source(self, text: str) -> SqlError:
        """Return the same error with the SQL text, so that its message can point into it."""
        if self.source is not None:
            return self
        return type(self)(self.code, self.message, self.fix, self.at, self.span, text)

    def in_file(self, path: str) -> SqlError:
        """Return the same error with the file that its text is from, unless it has one."""
        if self.at is not None:
            return self
        return type(self)(self.code, self.message, self.fix, path, self.span, self.source)

    def pointing_into(self, script: str) -> SqlError:
        """Return the same error over the script that its span was counted in.

        An error that names a file of its own keeps pointing there.
        """
        if self.at is not None:
            return self
        return type(self)(self.code, self.message, self.fix, self.at, self.span, script)

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.span:
            file = f"{self.at}, " if self.at else ""
            lines.append(f"  at:  {file}line {self.span.line}, column {self.span.column}")
            lines.extend(self._caret_lines(self.span))
        elif self.at:
            lines.append(f"  at:  {self.at}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)

    def _caret_lines(self, span: Span) -> list[str]:
        text = (self.source or "").split("\n")
        if self.source is None or span.line > len(text):
            return []
        line = text[span.line - 1].rstrip("\r")
        width = max(1, min(span.end - span.start, len(line) - span.column + 1))
        # Tabs stay tabs, so that the caret is below the right column.
        lead = "".join("\t" if c == "\t" else " " for c in line[: span.column - 1])
        return [f"       {line}", f"       {lead}{'^' * width}"]


class ParseError(SqlError):
    """The text is not a statement of the language."""


class AnalysisError(SqlError):
    """A statement names something that does not exist, or its parts do not fit together."""


class SqlTypeError(AnalysisError):
    """A value has a type that is not allowed in its place."""


class FunctionError(SqlError):
    """A function fails on its arguments; at run time the result is NULL and this is logged."""


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return the advice to use the nearest known name, if there is one near enough.

    >>> did_you_mean("STRAEM", ["STREAM", "TABLE"])
    "did you mean 'STREAM'?"
    """
    near = difflib.get_close_matches(name.upper(), list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else None
