"""What a hostile operator does to instances: pauses, one name twice, full disks, and more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.failover.asking import LIMITS_S, ask_during_kills, report
from tests.failover.trouble import CASES

_NEED_ROOT = {"full-disk", "two-machines"}


@pytest.mark.chaos
@pytest.mark.parametrize("case", CASES)
def test_every_record_is_counted_once_whatever_happens(case: str, tmp_path: Path) -> None:
    """The docstring of each case says what happens and what has to come of it."""
    if case in _NEED_ROOT and os.geteuid() != 0:
        pytest.skip("needs root")
    assert CASES[case](tmp_path)


@pytest.mark.chaos
@pytest.mark.parametrize("standbys", sorted(LIMITS_S))
def test_no_answer_is_wrong_while_instances_are_killed(standbys: int, tmp_path: Path) -> None:
    """And no key waits for longer than promised."""
    phases = ask_during_kills(tmp_path, keys=100_000, asks=10_000, standbys=standbys, askers=4)
    text, is_good = report(phases, standbys, LIMITS_S[standbys])
    assert is_good, text
