"""Where the prompt prints: the terminal or a pipe, and the file of SPOOL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Any

import orjson
from rich.console import Console, RenderableType
from rich.text import Text

from penstock.cli.output import out
from penstock.cli.sql.prompt.error_text import error_text, plain_error
from penstock.errors import InvalidArgumentError, PenstockError

#: The width of a spool file, and of tables in a pipe.
_FILE_WIDTH = 160
TABULAR, JSON = "tabular", "json"


class Screen:
    """Print answers in one of two formats, and copy them to the spool file if there is one."""

    def __init__(self, output_format: str = TABULAR, console: Console | None = None) -> None:
        self.format = output_format
        self.is_wrapped = True
        self.is_expanded = False
        self.console = console or out()
        self._errors = Console(stderr=True, highlight=False)
        self._spool: tuple[Path, IO[str], Console] | None = None

    @property
    def is_terminal(self) -> bool:
        return self.console.is_terminal

    @property
    def is_json(self) -> bool:
        return self.format == JSON

    @property
    def width(self) -> int:
        """Return the width of tables: the terminal's as it is now."""
        return self.console.width if self.is_terminal else _FILE_WIDTH

    def print(self, what: RenderableType) -> None:
        """Print something for people to read."""
        is_text = isinstance(what, str | Text)
        for console in self._consoles():
            # A pipe gets the lines as they are; a terminal breaks them between words.
            console.print(what, soft_wrap=is_text and not console.is_terminal)

    def json(self, value: Any) -> None:
        """Print one JSON document: on one line, except in a terminal."""
        option = orjson.OPT_INDENT_2 if self.is_terminal else 0
        self.line(orjson.dumps(value, option=option, default=str).decode())

    def line(self, text: str) -> None:
        """Print a line as it is, and at once."""
        for console in self._consoles():
            console.out(text, highlight=False)
            console.file.flush()

    def note(self, text: str) -> None:
        """Print a remark, which a pipe does not get."""
        if self.is_terminal:
            self.print(Text(text, style="dim"))
        else:
            self._errors.print(Text(text, style="dim"), soft_wrap=True)

    def error(self, error: PenstockError, statement: str | None = None) -> None:
        """Print an error: to the terminal, or to standard error if data goes to a pipe."""
        if self.is_json:
            self.json(plain_error(error, statement))
            return
        text = error_text(error, statement)
        if self.is_terminal:
            self.print(text)
            return
        self._errors.print(text, soft_wrap=True)
        if self._spool is not None:
            self._spool[2].print(text, soft_wrap=True)

    def typed(self, text: str) -> None:
        """Copy what the user has typed to the spool file."""
        if self._spool is not None:
            self._spool[2].out(f"penstock> {text}", highlight=False)

    # SPOOL

    @property
    def spool_file(self) -> Path | None:
        return None if self._spool is None else self._spool[0]

    def start_spool(self, file: Path) -> None:
        """Copy everything from now on to a file, which is overwritten.

        Raises:
            InvalidArgumentError: ``bad-spool-file``.
        """
        self.stop_spool()
        try:
            opened = file.open("w", encoding="utf-8")
        except OSError as error:
            raise InvalidArgumentError(
                "bad-spool-file", f"{str(file)!r} cannot be written: {error.strerror}"
            ) from None
        self._spool = file, opened, Console(file=opened, width=_FILE_WIDTH, highlight=False)

    def stop_spool(self) -> Path | None:
        """Stop copying, and return the file that was written."""
        if self._spool is None:
            return None
        file, opened, _ = self._spool
        opened.close()
        self._spool = None
        return file

    def clear(self) -> None:
        if self.is_terminal:
            self.console.clear()

    def _consoles(self) -> list[Console]:
        return [self.console] if self._spool is None else [self.console, self._spool[2]]


def reads_terminal() -> bool:
    """Return whether a user types the statements."""
    return sys.stdin.isatty() and sys.stdout.isatty()
