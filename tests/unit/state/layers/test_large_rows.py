"""Warnings of rows that are on their way to be too large: ``layers.large_rows``."""

import logging
from typing import Any

import pytest

from penstock.serde.serdes import Serdes
from penstock.state.layers.large_rows import LARGE_ROW_BYTES, warns_of_large_rows
from penstock.state.spec import StoreKind, StoreSpec
from tests.unit.sql.queries import running

LARGE = b"x" * (LARGE_ROW_BYTES + 1)


class Log:
    """A changelog that keeps what it gets."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes | None]] = []

    def append(self, key: bytes, value: bytes | None, timestamp: int, headers: Any = ()) -> None:
        self.records.append((key, value))

    def append_all(self, keys: Any, values: Any, timestamps: Any) -> None:
        self.records.extend(zip(keys, values, strict=True))


def watched(kind: StoreKind = StoreKind.TIMESTAMPED_KEY_VALUE) -> tuple[Any, Log]:
    inner = Log()
    spec = StoreSpec(name="sums", kind=kind, key_serde=Serdes.string())
    return warns_of_large_rows(spec, inner), inner


def test_each_group_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    """All records go on, whatever their size, one by one and many at once."""
    changelog, inner = watched()
    for key, value in [(b"ann", LARGE), (b"ann", LARGE), (b"bob", LARGE[:-1]), (b"bob", None)]:
        changelog.append(key, value, 0)
    changelog.append_all([b"cid", b"ann"], [LARGE, LARGE], [0, 0])
    assert len(inner.records) == 6
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "store sums: the row of group 'ann' has 100001 bytes" in caplog.messages[0]
    assert "'cid'" in caplog.messages[1]


@pytest.mark.parametrize(
    ("kind", "tail"), [(StoreKind.TIMESTAMPED_WINDOW, 12), (StoreKind.SESSION, 16)]
)
def test_windows_of_one_group_are_one_group(
    kind: StoreKind, tail: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Their keys end with the window."""
    changelog, _ = watched(kind)
    changelog.append(b"ann" + bytes(tail), LARGE, 0)
    changelog.append(b"ann" + b"\x01" * tail, LARGE, 0)
    assert ["'ann'" in each for each in caplog.messages] == [True]


def test_a_flood_of_large_groups_ends(caplog: pytest.LogCaptureFixture) -> None:
    """The hundredth is named; one line says that there are more."""
    changelog, _ = watched()
    for number in range(300):
        changelog.append(b"%d" % number, LARGE, 0)
    assert len(caplog.messages) == 101
    assert "others are not named" in caplog.messages[-1]


def test_stores_of_processors_are_left_alone() -> None:
    """What a row is there is the user's own business; an unlogged store has no changelog."""
    spec = StoreSpec(name="own", kind=StoreKind.KEY_VALUE)
    inner = Log()
    assert warns_of_large_rows(spec, inner) is inner
    assert warns_of_large_rows(StoreSpec(name="s", kind=StoreKind.SESSION), None) is None


def test_a_query_names_its_group(caplog: pytest.LogCaptureFixture) -> None:
    """COLLECT_LIST of long texts: two of them are enough."""
    create = (
        "CREATE STREAM s (id INT KEY, g VARCHAR, x VARCHAR)"
        " WITH (KAFKA_TOPIC='s', KEY_FORMAT='JSON', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    with running(create, "CREATE TABLE t AS SELECT g, COLLECT_LIST(x) AS n FROM s GROUP BY g;") as (
        script
    ):
        for _ in range(4):
            script.pipe("s", 1, {"g": "ann", "x": "x" * 60_000})
    (warning,) = [each for each in caplog.messages if "row of group" in each]
    assert "('ann',)" in warning
