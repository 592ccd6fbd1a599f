"""Expressions that fail while a task runs: the result is NULL, and the task is told.

Expressions are plain functions of a row and know no task. So the task that runs in this thread says
where failures are reported to, for as long as it runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple


class ExpressionFailure(NamedTuple):
    """One expression that failed on one row, or for which the row is dropped.

    ``error`` is a sentence if nothing was raised.
    """

    step: str
    expression: str
    error: Exception | str
    row: Mapping[str, Any]


Report = Callable[[ExpressionFailure], None]


class _Thread(threading.local):
    report: Report | None = None


_thread = _Thread()


def report_failure(failure: ExpressionFailure) -> None:
    """Tell the task that runs in this thread, if it has asked for it.

    The task may raise, so that the expression is evaluated again in another way.
    """
    if _thread.report is not None:
        _thread.report(failure)


@contextmanager
def reporting_to(report: Report) -> Iterator[None]:
    """Report failures of this thread to a function, inside the ``with`` block."""
    before, _thread.report = _thread.report, report
    try:
        yield
    finally:
        _thread.report = before
