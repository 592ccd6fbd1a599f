"""Errors of tasks on their way to the program: through Spark, which carries only their text."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator

from pyspark.errors import PySparkException

from penstock import errors
from penstock.errors import PenstockError

_MARK = "penstock-error "


class TaskFailedError(Exception):
    """A task of a batch failed. The first line is for people, the last one for the driver."""


def portable(error: PenstockError) -> TaskFailedError:
    """Return an error whose text has everything that ``as_raised`` needs."""
    told = [type(error).__name__, error.code, error.message, error.fix, error.at]
    return TaskFailedError(f"{error}\n{_MARK}{json.dumps(told)}")


@contextlib.contextmanager
def as_raised() -> Iterator[None]:
    """Raise the error of a task as it was raised there, instead of Spark's."""
    try:
        yield
    except PySparkException as failure:
        found = _found(str(failure))
        if found is None:
            raise
        raise found from failure


def _found(text: str) -> PenstockError | None:
    marked = re.search(rf"^{_MARK}(\[.*\])$", text, re.MULTILINE)
    if marked is None:
        return None
    name, code, message, fix, at = json.loads(marked[1])
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, PenstockError)):
        kind = errors.StreamsError
    found: PenstockError = kind(code, message, fix, at)
    return found
