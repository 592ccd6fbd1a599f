"""The present rows of a table: changed in place, gone when deleted, and never too many."""

from __future__ import annotations

import pytest

from penstock.cli.sql.prompt import present_rows
from penstock.cli.sql.prompt.present_rows import PresentRows
from penstock.client.rows import Columns, Row

COLUMNS = Columns.of(["K", "TAGS", "N"], ["STRING", "ARRAY<STRING>", "BIGINT"])


def row(key: str, number: int | None, *tags: str) -> Row:
    return COLUMNS.row([key, list(tags), number], is_deleted=number is None)


def test_rows_change_in_place() -> None:
    """A reader finds a row where it was."""
    present = PresentRows(("K",))
    present.take([row("a", 1), row("b", 2), row("a", 3)])
    assert [(each["K"], each["N"]) for each in present.shown(10)] == [("a", 3), ("b", 2)]
    present.take([row("a", None), row("c", None)])
    assert [each["K"] for each in present.shown(10)] == ["b"]
    assert len(present) == 1


def test_key_may_have_several_columns_of_any_type() -> None:
    """Lists cannot be keys of a dictionary, and are parts of keys all the same."""
    present = PresentRows(("K", "TAGS"))
    present.take([row("a", 1, "x"), row("a", 2, "y"), row("a", None, "x")])
    assert [(each["TAGS"], each["N"]) for each in present.shown(10)] == [(["y"], 2)]


def test_latest_changes_are_shown_if_there_is_no_room() -> None:
    """In the order of the keys, so that they do not jump."""
    present = PresentRows(("K",))
    present.take([row("a", 1), row("b", 2), row("c", 3), row("a", 4)])
    assert [each["K"] for each in present.shown(2)] == ["a", "c"]


def test_rows_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query may run for days."""
    monkeypatch.setattr(present_rows, "_MOST", 2)
    present = PresentRows(("K",))
    present.take([row("a", 1), row("b", 2), row("a", 3), row("c", 4)])
    assert [each["K"] for each in present.shown(10)] == ["a", "c"]
