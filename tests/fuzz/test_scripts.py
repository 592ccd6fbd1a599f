"""Random scripts agree with a plain recomputation; ``make fuzz ARGS="--scripts N"`` runs more."""

import time
from dataclasses import replace

import pytest

from tests.fuzz.scripts.command import check, problem, report
from tests.fuzz.scripts.generate import generate
from tests.fuzz.scripts.language import Batch, Event, Item, Query, Ref, Script, Value
from tests.fuzz.scripts.model import expected
from tests.fuzz.scripts.shrink import shrunk

PARTS = 4
EACH = 50


@pytest.mark.parametrize("part", range(PARTS))
def test_scripts_agree_with_the_model(part: int) -> None:
    """Batches, restarts, changes and the engine never change what comes out."""
    outcome = check(range(part * EACH, (part + 1) * EACH))
    assert outcome.failed is None, outcome.report
    # A generator whose scripts are refused would find nothing.
    assert outcome.agreed > EACH * 0.95, outcome.refused


def test_seeds_give_the_same_script_each_time() -> None:
    """A failure can be run again by its number."""
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)


def small() -> Script:
    item = Item(Ref("S", "A"), "X0")
    query = Query("O", "S", Ref("S", "K"), "VARCHAR", is_table=False, items=(item,))
    events = tuple(Event("S", "x", (("A", n),), n) for n in range(5))
    return Script((query,), (Batch(events), Batch(events[:1], restarts=True)))


def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong model stands in for a wrong engine: both sides count."""
    script = small()
    assert problem(script) is None

    def wrong(script: Script) -> object:
        return [[replace(w, value=None) if w.timestamp == 3 else w for w in one]
                for one in expected(script)]  # fmt: skip

    monkeypatch.setattr("tests.fuzz.scripts.run.expected", wrong)
    found = problem(script)
    assert found is not None
    least = shrunk(script, lambda each: problem(each) is not None)
    assert [len(batch.events) for batch in least.batches] == [1]
    text = report(5, script)
    assert "CREATE STREAM O AS SELECT S.K AS ID, S.A AS X0" in text
    assert "S 'x' {'A': 3} at 3" in text
    assert "written:  [({'X0': 3}, 3)]" in text


def test_refused_scripts_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no difference, and the test above notices if there are many."""
    script = small()
    bad = replace(script.queries[0], items=(Item(Ref("S", "NOWHERE"), "X0"),))
    monkeypatch.setattr(
        "tests.fuzz.scripts.command.generate", lambda seed: replace(script, queries=(bad,))
    )
    monkeypatch.setattr("tests.fuzz.scripts.run.expected", lambda script: [[]])
    outcome = check(range(3))
    assert (outcome.agreed, outcome.refused.total()) == (0, 3)


def test_exceptions_of_the_engine_are_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash is reported with its script like any other difference."""

    def fails(script: Script) -> None:
        raise ValueError(f"at {time.monotonic_ns()}")

    monkeypatch.setattr("tests.fuzz.scripts.command.difference", fails)
    found = problem(small())
    assert found is not None
    assert "ValueError" in found.text
    assert Value("a").sql() == "'a'"
