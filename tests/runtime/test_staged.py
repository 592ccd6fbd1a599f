"""Batches, slots, restarts and replays over topics in memory: nothing is lost or doubled.

Exercises ``cogroup_windows``, ``global_copy``, ``task_state`` and ``java_order``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.cases import Case, case_files, load
from tests.oracle.report import Settings, check_all, summary, text_of
from tests.oracle.staged import STAGINGS, Staging

_ORACLE = Path(__file__).resolve().parents[1] / "oracle"
_SHARED = Path(os.environ.get("PENSTOCK_ORACLE") or _ORACLE.parents[2] / "shared" / "oracle")
_EVERY = 12


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    # Cases drop and skip records on purpose.
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def _cases(*folders: Path) -> list[Case]:
    there = [folder for folder in folders if folder.exists()]
    return [case for path in case_files(there) for case in load(path)]


def _assert_all_agree(cases: list[Case], staging: Staging) -> None:
    verdicts = list(check_all(cases, Settings(staging=staging)))
    wrong = [each for each in verdicts if not each.agrees and not each.is_excepted]
    shown = [text_of(cases[each.index], each) for each in wrong[:5]]
    assert not wrong, "\n".join([summary(verdicts), *shown])


@pytest.mark.oracle
@pytest.mark.parametrize("staging", STAGINGS[:2], ids=str)
def test_own_cases_agree_in_stages(staging: Staging) -> None:
    """Our own cases; ``tests.oracle --staged`` runs all of them in every way."""
    _assert_all_agree(_cases(_ORACLE / "own"), staging)


@pytest.mark.slow
@pytest.mark.oracle
@pytest.mark.parametrize("staging", STAGINGS, ids=str)
def test_cases_agree_in_stages(staging: Staging) -> None:
    """Our own cases and some of the recorded ones, disturbed in every way."""
    _assert_all_agree(_cases(_ORACLE / "own") + _cases(_SHARED)[::_EVERY], staging)


@pytest.mark.slow
@pytest.mark.oracle
@pytest.mark.parametrize("staging", STAGINGS, ids=str)
def test_all_cases_agree_in_stages(staging: Staging) -> None:
    """Every recorded case, cut into batches and disturbed in every way."""
    cases = _cases(_SHARED)
    if not cases:
        pytest.skip(f"no case files in {_SHARED}; set PENSTOCK_ORACLE to a folder of cases")
    _assert_all_agree(cases, staging)
