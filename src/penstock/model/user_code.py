"""Calls of user code, whose errors have to be distinguished from faults of this library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class UserCodeError(Exception):
    """A function, an expression or a serde raised; ``__cause__`` is what it raised."""


@contextmanager
def user_code(what: str) -> Iterator[None]:
    """Turn any exception inside into a ``UserCodeError`` that says what was called."""
    try:
        yield
    except UserCodeError:
        raise
    except Exception as error:
        raise UserCodeError(f"{what} raised {type(error).__name__}") from error
