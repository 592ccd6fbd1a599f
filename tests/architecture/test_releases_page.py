"""The page on releases of Kafka Streams: every line has a verdict, and what it names exists."""

from __future__ import annotations

import re

import penstock
import penstock.testing
from penstock.config import SETTINGS
from tests.architecture.source import ROOT

PAGE = ROOT / "docs" / "reference" / "kafka-streams-releases.md"
VERDICTS = {"works", "differs", "not applicable"}
RELEASES = ["4.0", "4.1", "4.2", "4.3", "Ahead of a release"]


def rows() -> list[tuple[str, str, str]]:
    """The guide's line, the verdict and the reason of every row."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return [(row[0], row[1], row[2]) for row in cells if row[1] not in ("Here", "---")]


def test_every_release_has_a_table() -> None:
    """In the order in which they came out."""
    found = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found == RELEASES


def test_every_line_has_a_verdict_and_a_reason() -> None:
    """A verdict without a reason would not help whoever moves a program."""
    found = rows()
    assert len(found) > 40
    assert [row for row in found if row[1] not in VERDICTS or not row[2]] == []


def test_settings_that_work_exist() -> None:
    """A setting that the page promises is one that is taken."""
    promised = {
        name
        for line, verdict, reason in rows()
        if verdict == "works"
        for name in re.findall(r"`([a-z]+(?:\.[a-z]+)+)(?:=[A-Z]+)?`", line + reason)
        if not name.startswith(("penstock.", "streams."))
    }
    assert len(promised) > 5
    assert promised - set(SETTINGS) == set()


def test_names_that_work_exist() -> None:
    """Classes and methods are checked as far as the page writes them out."""
    promised = {
        name
        for _, verdict, reason in rows()
        if verdict == "works"
        for name in re.findall(r"`([A-Z]\w+\.[a-z_]+)\b", reason)
    }
    assert promised
    exported = {name: getattr(penstock, name) for name in penstock.__all__}
    # Some are imported when they are first asked for.
    testing = {name: getattr(penstock.testing, name) for name in penstock.testing.__all__}
    public = {**testing, **exported}
    for name in promised:
        owner, _, attribute = name.partition(".")
        assert hasattr(public[owner], attribute), name
