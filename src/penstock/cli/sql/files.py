"""Files that ``penstock sql`` reads: scripts, and records as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.testing.sql.records import load


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


def read_text(file: Path) -> str:
    try:
        # Some editors put a mark before the first letter.
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad_file(file, f"cannot be read: {error}") from None
