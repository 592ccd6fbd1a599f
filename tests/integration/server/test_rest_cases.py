"""Our own cases through a real server, with a real broker and Spark; and differences are found.

Exercises ``tests.sqlcases.over_rest``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock[server]")

from tests.sqlcases.cases import Case, cases_in
from tests.sqlcases.over_rest import RestServer, problems_over_rest, rest_server

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

OWN = Path(__file__).parents[2] / "sqlcases" / "own_rest"
CASES = [case for file in sorted(OWN.glob("*.json")) for case in cases_in(file)]


@pytest.fixture(scope="module")
def rest(kafka_broker: str) -> Iterator[RestServer]:
    with rest_server(kafka_broker) as made:
        yield made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_own_case_agrees(case: Case, rest: RestServer) -> None:
    """Each case of ours gives what it says, over HTTP."""
    assert problems_over_rest(case, rest) == []


@pytest.mark.parametrize(
    ("name", "change", "word"),
    [
        ("JSON", lambda data: data["outputs"][0].update(key=3), "key"),
        ("JSON", lambda data: data["outputs"][0]["value"].update(ITEM="x"), "value"),
        ("answers", lambda data: data["responses"][1]["admin"].update({"@type": "x"}), "@type"),
        ("answers", lambda data: data["responses"].append({"query": []}), "answers"),
        ("answers", lambda data: data.update(expectedError={}), "accepted"),
        ("refused", lambda data: data["expectedError"].update(status=500), "status"),
        ("refused", lambda data: data.pop("expectedError"), "refused"),
    ],
)
def test_difference_is_found(name: str, change: Any, word: str, rest: RestServer) -> None:
    """A case that says something else disagrees, and the problem says what."""
    found = next(case for case in CASES if name in case.name)
    data = copy.deepcopy(found.data)
    change(data)
    problems = problems_over_rest(Case(found.file, found.name, data), rest)
    assert problems
    assert word in " ".join(problems)
