"""The editor of the prompt: several lines, history, colours, completion and a line below."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import completion_is_selected, is_done
from prompt_toolkit.formatted_text import AnyFormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.shortcuts import CompleteStyle

from penstock.cli.sql.prompt.catalog_words import CatalogWatch
from penstock.cli.sql.prompt.cli_commands import COMMAND_WORDS
from penstock.cli.sql.prompt.completion import SqlCompleter
from penstock.cli.sql.prompt.highlighting import STYLE, SqlHighlighter
from penstock.cli.sql.prompt.statement_kind import is_complete
from penstock.sql.syntax.parser import keywords

PROMPT = "penstock> "
_MORE = "      ..> "


@cache
def sql_keywords() -> frozenset[str]:
    """Return the words of the grammar; reading it takes a moment, once."""
    return keywords()


class LineEditor:
    """Read one script at a time from a terminal.

    Enter ends it if it is whole: a command, or statements with their semicolons. Otherwise it
    begins a new line.
    """

    def __init__(
        self,
        catalog: CatalogWatch,
        is_command: Callable[[str], bool],
        toolbar: Callable[[], str],
        *,
        history_file: Path | None = None,
        source: Input | None = None,
        target: Output | None = None,
    ) -> None:
        self._is_command = is_command
        self.history = open_history(history_file)
        self._session: PromptSession[str] = PromptSession(
            history=self.history,
            auto_suggest=AutoSuggestFromHistory(),
            completer=SqlCompleter(lambda: catalog.latest, sql_keywords, COMMAND_WORDS),
            complete_while_typing=True,
            complete_in_thread=True,
            complete_style=CompleteStyle.COLUMN,
            lexer=SqlHighlighter(sql_keywords, lambda: catalog.latest.functions),
            style=STYLE,
            multiline=True,
            key_bindings=self._bindings(),
            prompt_continuation=_continuation,
            bottom_toolbar=toolbar,
            editing_mode=EditingMode.EMACS,
            input=source,
            output=target,
        )

    def read(self) -> str:
        """Return what the user has typed.

        Raises:
            KeyboardInterrupt: Ctrl-C: the user throws the text away.
            EOFError: Ctrl-D: the user leaves.
        """
        return self._session.prompt([("class:prompt", PROMPT)])

    def typed_before(self) -> list[str]:
        return list(self.history.get_strings())

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("enter", filter=~completion_is_selected & ~is_done)
        def _enter(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            text = buffer.text
            if not text.strip() or self._is_command(text) or is_complete(text):
                buffer.validate_and_handle()
            else:
                buffer.insert_text("\n")

        @bindings.add("enter", filter=completion_is_selected & ~is_done)
        def _take(event: KeyPressEvent) -> None:
            # The completion is in the text already: Enter only closes the menu.
            event.current_buffer.complete_state = None

        @bindings.add("escape", "enter")
        def _send(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        return bindings


def _continuation(width: int, line_number: int, wrap_count: int) -> AnyFormattedText:
    return [("class:prompt.more", _MORE if not wrap_count else " " * width)]


def default_history_file() -> Path:
    """Return where the history is kept, as the XDG rules say."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "penstock" / "sql-history"


def open_history(file: Path | None) -> History:
    """Return the history of a file, which only its owner can read; in memory without one."""
    if file is None:
        return InMemoryHistory()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        # The prompt also works if the home folder cannot be written.
        return InMemoryHistory()
    return FileHistory(str(file))
