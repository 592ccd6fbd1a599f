"""Files that ``penstock sql`` reads: scripts, and records as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.cli.sql.prompt.statement_kind import Kind, kind_of, script_path
from penstock.errors import InvalidArgumentError
from penstock.model.sql.errors import SqlError
from penstock.sql.syntax.parser import split_statements
from penstock.testing.sql.records import load

#: How deep scripts may run scripts; more is a script that runs itself.
_MOST_SCRIPTS = 10


def read_records(file: Path, name: str) -> list[dict[str, Any]]:
    """Read ``{"inputs": [...]}`` or the list alone; every record names its topic."""
    try:
        data = load(read_text(file))
    except ValueError as error:
        raise _bad_file(file, f"is not JSON: {error}") from None
    records = data.get(name) if isinstance(data, dict) else data
    if not isinstance(records, list):
        raise _bad_file(file, f'has no list of {name}: {{"{name}": [...]}}')
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict) or not isinstance(record.get("topic"), str):
            raise _bad_file(file, f"has a record without a topic: number {number}")
    return records


def _bad_file(file: Path, what: str) -> InvalidArgumentError:
    return InvalidArgumentError("bad-test-file", f"{str(file)!r} {what}")


def read_script(file: Path, depth: int = 0) -> str:
    """Read a script, with the scripts that it runs in place of their RUN SCRIPT.

    Paths are those from the folder of the command, as in the prompt.

    Raises:
        InvalidArgumentError: a file cannot be read, or scripts run each other for ever.
    """
    text = read_text(file)
    if depth > _MOST_SCRIPTS:
        raise _bad_file(file, "is run by a script that it runs itself")
    try:
        pieces = split_statements(text)
    except SqlError:
        # The engine says what is wrong, and where.
        return text
    parts, end = [], 0
    for piece in pieces:
        if kind_of(piece.text) is not Kind.RUN_SCRIPT:
            continue
        parts += [
            text[end : piece.span.start],
            read_script(Path(script_path(piece.text)), depth + 1),
        ]
        end = piece.span.end
    return "".join([*parts, text[end:]])


def read_text(file: Path) -> str:
    try:
        # Some editors put a mark before the first letter.
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad_file(file, f"cannot be read: {error}") from None
