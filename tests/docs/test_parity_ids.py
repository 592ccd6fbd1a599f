"""The page on parity has every id of the checklist, where the checklist is at hand."""

from __future__ import annotations

import re

import pytest

from tests.architecture.source import ROOT
from tests.docs.parity_page import lines

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
