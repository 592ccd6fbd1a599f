"""What changelogs hold after history: ``penstock.runtime.history.changelogs``."""

from typing import Any

import pytest

from penstock import Serdes, Stores
from penstock.runtime.history import changelogs
from penstock.runtime.history.changelogs import TaskChangelogs
from penstock.runtime.history.rows import headers_of
from penstock.state.buffer.buffer_value import CHANGELOG_VERSION
from penstock.state.spec import StoreKind, StoreSpec

PLAIN = Stores.key_value_store_builder(
    Stores.persistent_key_value_store("plain"), Serdes.string(), Serdes.string()
)
VERSIONED = Stores.versioned_key_value_store_builder(
    Stores.persistent_versioned_key_value_store("versions", "1h"), Serdes.string(), Serdes.string()
)
BUFFER = StoreSpec(name="buffer", kind=StoreKind.TIME_ORDERED_BUFFER, persistent=False)


def logs(*specs: StoreSpec, of_sources: dict[str, str] | None = None) -> TaskChangelogs:
    return TaskChangelogs({spec.name: spec for spec in specs}, of_sources or {}, 5)


def rows(found: TaskChangelogs, *, is_end: bool = True) -> list[dict[str, Any]]:
    return [row for batch in found.take(is_end=is_end) for row in batch.to_pylist()]


def test_only_the_last_record_of_a_key_is_kept() -> None:
    """A tombstone is one, too: rows that were handed on before may have the key."""
    found = logs(PLAIN)
    log = found.open("plain")
    assert log is not None
    log.append_all([b"a", b"b"], [b"1", b"2"], [1, 2])
    log.append(b"a", None, 3)
    assert rows(found, is_end=False) == []
    kept = {row["key"]: (row["value"], row["timestamp"], row["task"]) for row in rows(found)}
    assert kept == {b"a": (None, 3, 5), b"b": (b"2", 2, 5)}


def test_a_versioned_store_keeps_all_records_in_order() -> None:
    """What a version means depends on those before it."""
    found = logs(VERSIONED)
    log = found.open("versions")
    assert log is not None
    log.append(b"a", b"1", 10)
    log.append(b"a", b"2", 5)
    assert [(row["value"], row["seq"]) for row in rows(found)] == [(b"1", 1), (b"2", 2)]


def test_many_records_are_handed_on_and_numbered_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So memory stays bounded, and the last record of a key can still be told."""
    monkeypatch.setattr(changelogs, "_MOST", 2)
    found = logs(PLAIN)
    log = found.open("plain")
    assert log is not None
    log.append_all([b"a", b"b"], [b"1", b"2"], [1, 2])
    first = rows(found, is_end=False)
    log.append(b"a", b"3", 3)
    assert [row["seq"] for row in first + rows(found)] == [1, 2, 3]


def test_a_store_whose_topic_is_its_changelog_logs_nothing() -> None:
    """Its records are in the topic already."""
    assert logs(PLAIN, of_sources={"plain": "in"}).open("plain") is None


def test_records_of_a_buffer_name_the_version_of_their_format() -> None:
    """Java reads the changelog of a buffer by that header."""
    found = logs(BUFFER)
    log = found.open("buffer")
    assert log is not None
    log.append(b"a", b"1", 1)
    name, value = CHANGELOG_VERSION
    assert headers_of(rows(found)[0]["headers"]) == ((name, value),)
