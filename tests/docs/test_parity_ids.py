"""The page on parity has every id of the checklist, where the checklist is at hand."""

from __future__ import annotations

import re

import pytest

from tests.architecture.source import ROOT
from tests.docs.parity_page import Line, lines

CHECKLIST = ROOT.parent / "shared" / "FEATURES.md"


@pytest.mark.skipif(not CHECKLIST.exists(), reason="the checklist is not beside the project")
def test_every_id_of_the_checklist_has_a_state() -> None:
    """No feature is left out, and none is made up."""
    text = CHECKLIST.read_text(encoding="utf-8")
    wanted = set(re.findall(r"^(?:- )?([A-Z]{2}-\d{2}) \|", text, re.MULTILINE))
    assert {line.id for line in lines()} == wanted


def test_ids_that_tests_name_are_on_the_page() -> None:
    """A test that shows a feature begins its docstring with the id, as in ``XX-03: …``."""
    known = {line.id for line in lines()}
    named = {
        found
        for file in (ROOT / "tests").rglob("test_*.py")
        for found in re.findall(r'"""([A-Z]{2}-\d{2}): ', file.read_text(encoding="utf-8"))
    }
    assert named
    assert named - known == set()


@pytest.mark.parametrize(
    ("evidence", "engine"),
    [
        ("integration/spark/test_streams.py::test_it", "Spark"),
        ("integration/kafka/test_read.py::test_it", "Kafka"),
        ("operators/test_filter.py::test_it", "test driver"),
        ("unit/state/layers/test_cache.py::test_it", "part"),
        ("docs/decisions/0001-the-batch-log.md", ""),
    ],
)
def test_a_line_says_what_its_test_runs_on(evidence: str, engine: str) -> None:
    """A part alone does not show that an application does it, and a page shows nothing."""
    assert Line("XX-00", "Section", "works", "text", evidence).engine == engine
