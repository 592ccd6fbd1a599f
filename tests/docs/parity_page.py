"""The page on parity, from a table in which every line names its test; the table is checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.source import ROOT
from tests.docs.pages import DOCS

PAGE = DOCS / "reference" / "parity.md"
TABLE = Path(__file__).parent / "parity.txt"
STATES = ("works", "differs", "not yet")
#: By what a test runs on, the folders of such tests.
ENGINES = {
    "Spark": ("integration/spark/", "chaos/", "cluster/", "failover/", "ordinary/", "verifiers/"),
    "Kafka": ("integration/",),
    "test driver": (
        "examples/",
        "nexmark/",
        "operators/",
        "oracle/",
        "properties/",
        "sql/",
        "sqlcases/",
        "unit/sql/",
        "unit/testing/",
    ),
}
INTRODUCTION = """\
# Parity

Every feature of a checklist made from Kafka Streams, ksqlDB, the requests of their users and of
users of other Python frameworks. Each line has a state and the test, or the page, that comes
nearest to it. A test checks that no line is missing and that every test on this page exists.

- **works**: as in the original.
- **differs**: there is something for it, but not the same.
- **not yet**: it is not there.

The last column says what the test runs on: **Spark** (and Kafka), **Kafka** without Spark, the
**test driver**, which runs whole topologies and scripts of SQL in one process, or a **part** alone.
A page is no test.

[Kafka Streams 4.0 to 4.3](kafka-streams-releases.md) goes through the upgrade guide line by line,
and [what differs from ksqlDB](sql.md#what-differs-from-ksqldb) is on the page of SQL.
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One feature: its id, its section, its state, what holds here, and its evidence."""

    id: str
    section: str
    state: str
    text: str
    evidence: str

    @property
    def file(self) -> Path:
        """The file of the test or page."""
        path = self.evidence.partition("::")[0]
        return (ROOT if path.endswith((".md", ".json")) else ROOT / "tests") / path

    @property
    def engine(self) -> str:
        """What the test runs on."""
        if not self.function:
            return ""
        found = (name for name, folders in ENGINES.items() if self.evidence.startswith(folders))
        return next(found, "part")

    @property
    def function(self) -> str:
        """The test function, if the line names one."""
        return self.evidence.partition("::")[2]


def lines() -> list[Line]:
    """Return the lines of the table in its order."""
    found, section = [], ""
    for text in TABLE.read_text(encoding="utf-8").splitlines():
        if text.startswith("## "):
            section = text[3:]
        elif re.match(r"[A-Z]{2}-\d{2} \|", text):
            id_, state, what, evidence = (cell.strip() for cell in text.split("|"))
            found.append(Line(id_, section, state, what, evidence))
    return found


def render() -> str:
    """Return the page: a summary, and a table for each section."""
    table = lines()
    parts = [INTRODUCTION, "\n| Section | works | differs | not yet |\n|---|---|---|---|\n"]
    sections = list(dict.fromkeys(line.section for line in table))
    for section in sections:
        parts.append(_summary(section, [line for line in table if line.section == section]))
    parts.append(_summary("**All**", table))
    for section in sections:
        parts.append(
            f"\n## {section}\n\n| Id | State | Here | Test | On |\n|---|---|---|---|---|\n"
        )
        parts += [_row(line) for line in table if line.section == section]
    return "".join(parts)


def _summary(name: str, members: list[Line]) -> str:
    counts = [sum(line.state == state for line in members) for state in STATES]
    return f"| {name} | {' | '.join(map(str, counts))} |\n"


def _row(line: Line) -> str:
    return f"| {line.id} | {line.state} | {line.text} | {_evidence(line)} | {line.engine} |\n"


def _evidence(line: Line) -> str:
    if line.evidence.endswith(".md"):
        return f"[page](../{line.evidence.removeprefix('docs/').removeprefix('reference/../')})"
    return f"`{line.evidence}`" if line.evidence else ""
