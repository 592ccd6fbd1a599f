"""``replay.diff``: what two versions of a program write differently."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.cli.replay.diff import Change, changes_between
from penstock.testing.replay import ReplayedRecord

PROGRAM = """
from penstock import StreamsBuilder

def build():
    builder = StreamsBuilder()
    builder.stream("orders", value="json").filter(lambda _, o: o["amount"] > {limit}).to("large")
    return builder.build()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, limit in (("old", 10), ("new", 20), ("same", 10)):
        (tmp_path / f"{name}.py").write_text(PROGRAM.format(limit=limit), encoding="utf-8")
    lines = (
        {"topic": "orders", "key": f"o-{n}", "value": {"amount": amount}, "time_ms": n}
        for n, amount in enumerate((5, 15, 25))
    )
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "data.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def diff(folder: Path, new: str, *options: str) -> Result:
    files = [str(folder / f"{name}.py") for name in ("old", new)]
    return CliRunner().invoke(app, ["diff", *files, "-i", str(folder / "data.jsonl"), *options])


def test_changed_filter_shows_the_records_that_go_away(folder: Path) -> None:
    """Exit 1 says that the output differs."""
    done = diff(folder, "new")
    assert done.exit_code == 1
    assert '- o-1  {"amount":15}' in done.output
    assert "o-2" not in done.output


def test_equal_programs_write_the_same(folder: Path) -> None:
    """Exit 0 says that nothing changes."""
    done = diff(folder, "same")
    assert done.exit_code == 0
    assert "both versions write the same 2 records" in done.output


def test_changes_can_be_read_by_programs(folder: Path) -> None:
    """One JSON document, with the number of records of both."""
    told = json.loads(diff(folder, "new", "--json").stdout)
    assert (told["equal"], told["old"], told["new"]) == (False, 2, 1)
    assert told["changes"] == [
        {"sign": "-", "topic": "large", "key": "o-1", "value": {"amount": 15}, "timestamp": 1}
    ]


def record(key: str, value: int, time: int = 0) -> ReplayedRecord:
    return ReplayedRecord("out", key, value, time)


def test_order_of_different_keys_does_not_matter() -> None:
    """Kafka promises no order between them."""
    one, other = record("a", 1), record("b", 2)
    assert list(changes_between([one, other], [other, one])) == []


def test_order_within_a_key_matters() -> None:
    """The last record of a key is the one that counts."""
    changes = list(changes_between([record("a", 1), record("a", 2)], [record("a", 2)]))
    assert changes == [Change("-", "out", "a", 1, 0)]
    assert list(changes_between([record("a", 1), record("a", 2)], [record("a", 2), record("a", 1)]))


def test_time_can_be_ignored() -> None:
    """Otherwise it is part of a record."""
    before, after = [record("a", 1, time=5)], [record("a", 1, time=6)]
    assert len(list(changes_between(before, after))) == 2
    assert list(changes_between(before, after, ignore_time=True)) == []
