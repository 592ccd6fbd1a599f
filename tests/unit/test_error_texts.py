"""An error says what is wrong, where in the user's program, and what to do."""

import logging
import re
from collections.abc import Iterator

import pytest

from tests.unit.errors.mistakes import MISTAKES, WITHOUT_LINE, Mistake
from tests.unit.errors.texts import ERROR_TEXTS, error_of, error_texts, line_at

PROGRAMS = [program for chapter in MISTAKES.values() for program in chapter.values()]


@pytest.fixture(autouse=True)
def _without_logs() -> Iterator[None]:
    """Handlers log what they fail on; here that is the point."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_mistake_gives_an_error_with_line_and_fix(program: Mistake) -> None:
    """Whatever a user gets wrong ends in an error of ours, never in a bare traceback."""
    error = error_of(program)
    if error is None:
        assert program.__name__ in WITHOUT_LINE
        return
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", error.code)
    assert error.fix
    if program.__name__ not in WITHOUT_LINE:
        assert error.at is not None
        name, number = error.at.split(":")
        assert name == "mistakes.py"
        assert line_at(int(number)).endswith("# !"), line_at(int(number))


def test_error_texts_are_as_promised() -> None:
    """Wording may change, but not by accident: `python -m tests.golden` accepts a change."""
    assert error_texts() == ERROR_TEXTS.read_text(encoding="utf-8")
