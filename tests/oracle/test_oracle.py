"""Every recorded case, and every case of our own, agrees: one test per case file.

The text of ``topology.describe`` is part of each case.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.__main__ import main
from tests.oracle.cases import Case, case_files, load
from tests.oracle.report import Settings, check_all, summary, text_of
from tests.oracle.run import ENGINES, Engine
from tests.oracle.staged import COLUMN_STAGINGS

_HERE = Path(__file__).resolve().parent
_OWN = _HERE / "own"
_SHARED = Path(os.environ.get("PENSTOCK_ORACLE") or _HERE.parents[2] / "shared" / "oracle")
_MAX_SHOWN = 5
#: How many of the recorded cases run in one batch: one in so many.
_EVERY = 4


def _shared_files() -> list[object]:
    files = case_files([_SHARED]) if _SHARED.exists() else []
    if files:
        return [pytest.param(path, id=str(path.relative_to(_SHARED))) for path in files]
    reason = f"no case files in {_SHARED}; set PENSTOCK_ORACLE to a folder of cases"
    return [pytest.param(None, id="absent", marks=pytest.mark.skip(reason=reason))]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    # Cases drop and skip records on purpose.
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def _assert_all_agree(path: Path, engine: Engine) -> None:
    cases = load(path)
    verdicts = list(check_all(cases, Settings(is_strict=True, engine=engine)))
    wrong = [verdict for verdict in verdicts if not verdict.agrees and not verdict.is_excepted]
    shown = [text_of(cases[verdict.index], verdict) for verdict in wrong[:_MAX_SHOWN]]
    assert not wrong, "\n".join([summary(verdicts), *shown])


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", _shared_files())
def test_recorded_cases_agree(path: Path, engine: Engine) -> None:
    """What Java Kafka Streams recorded, Penstock does as well, by record and over columns."""
    _assert_all_agree(path, engine)


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", case_files([_OWN]), ids=lambda path: path.name)
def test_own_cases_agree(path: Path, engine: Engine) -> None:
    """What we reasoned Kafka Streams must do, Penstock does, by record and over columns."""
    _assert_all_agree(path, engine)


@pytest.mark.oracle
@pytest.mark.parametrize("path", _shared_files())
def test_columns_change_nothing_of_recorded_cases_in_one_batch(path: Path) -> None:
    """Some cases, as stages on Spark run them; ``tests.oracle --columns`` runs all of them."""
    _assert_columns_agree(load(path)[::_EVERY])


@pytest.mark.oracle
@pytest.mark.parametrize("path", case_files([_OWN]), ids=lambda path: path.name)
def test_columns_change_nothing_of_own_cases_in_one_batch(path: Path) -> None:
    """Every record of a case meets the others in one batch, over columns and by record."""
    _assert_columns_agree(load(path))


@pytest.mark.oracle
@pytest.mark.parametrize("path", _shared_files())
def test_recorded_cases_agree_as_history(path: Path) -> None:
    """Some cases, with all of their records at once; ``--engine batch`` runs all of them."""
    _assert_history_agrees(load(path)[::_EVERY])


@pytest.mark.oracle
@pytest.mark.parametrize("path", case_files([_OWN]), ids=lambda path: path.name)
def test_own_cases_agree_as_history(path: Path) -> None:
    """Passes over bounded inputs make the outputs and stores of the driver."""
    _assert_history_agrees(load(path))


def _assert_history_agrees(cases: list[Case]) -> None:
    verdicts = list(check_all(cases, Settings(is_history=True)))
    wrong = [each for each in verdicts if not each.agrees and not each.is_excepted]
    shown = [text_of(cases[verdict.index], verdict) for verdict in wrong[:_MAX_SHOWN]]
    assert not wrong, "\n".join([summary(verdicts), *shown])


def _assert_columns_agree(cases: list[Case]) -> None:
    settings = Settings(staging=COLUMN_STAGINGS[0], compares_engines=True)
    verdicts = list(check_all(cases, settings))
    wrong = [each for each in verdicts if not each.agrees and not each.is_excepted]
    shown = [text_of(cases[verdict.index], verdict) for verdict in wrong[:_MAX_SHOWN]]
    assert not wrong, "\n".join([summary(verdicts), *shown])


def test_many_own_cases_do_run_over_columns() -> None:
    """Both engines would agree of themselves if none of them did."""
    cases = [case for path in case_files([_OWN]) for case in load(path)]
    verdicts = check_all(cases, Settings(engine="columns"))
    assert sum(each.ran_over_columns for each in verdicts) > len(cases) // 4


def test_a_missing_path_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped path must not count as agreement."""
    assert main(["no/such/folder"]) == 2
    assert "no such file or folder" in capsys.readouterr().err


def test_list_names_cases_without_running_them(capsys: pytest.CaptureFixture[str]) -> None:
    """``--list`` with ``-k`` shows what a run would take."""
    assert main([str(_OWN), "--list", "-k", "punctuation"]) == 0
    assert "own-wall-clock-tick-cancels-itself" in capsys.readouterr().out
