"""Every recorded case, and every case of our own, agrees: one test per case file."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.__main__ import main
from tests.oracle.cases import case_files, load
from tests.oracle.report import Settings, check_all, summary, text_of

_HERE = Path(__file__).resolve().parent
_OWN = _HERE / "own"
_SHARED = Path(os.environ.get("PENSTOCK_ORACLE") or _HERE.parents[2] / "shared" / "oracle")
_MAX_SHOWN = 5


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


def _assert_all_agree(path: Path) -> None:
    cases = load(path)
    verdicts = list(check_all(cases, Settings(is_strict=True)))
    wrong = [verdict for verdict in verdicts if not verdict.agrees]
    shown = [text_of(cases[verdict.index], verdict) for verdict in wrong[:_MAX_SHOWN]]
    assert not wrong, "\n".join([summary(verdicts), *shown])


@pytest.mark.oracle
@pytest.mark.parametrize("path", _shared_files())
def test_recorded_cases_agree(path: Path) -> None:
    """What Java Kafka Streams recorded, Penstock does as well."""
    _assert_all_agree(path)


@pytest.mark.oracle
@pytest.mark.parametrize("path", case_files([_OWN]), ids=lambda path: path.name)
def test_own_cases_agree(path: Path) -> None:
    """What we reasoned Kafka Streams must do, Penstock does."""
    _assert_all_agree(path)


def test_a_missing_path_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped path must not count as agreement."""
    assert main(["no/such/folder"]) == 2
    assert "no such file or folder" in capsys.readouterr().err


def test_list_names_cases_without_running_them(capsys: pytest.CaptureFixture[str]) -> None:
    """``--list`` with ``-k`` shows what a run would take."""
    assert main([str(_OWN), "--list", "-k", "punctuation"]) == 0
    assert "own-wall-clock-tick-cancels-itself" in capsys.readouterr().out
