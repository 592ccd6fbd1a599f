"""The text that each mistake leads to: an error, or what happened to the record."""

import linecache
import re
from pathlib import Path

from penstock.errors import PenstockError
from tests.unit.errors import mistakes
from tests.unit.errors.mistakes import MISTAKES, Mistake

ERROR_TEXTS = Path(__file__).parents[2] / "golden" / "errors.txt"
_SITE = re.compile(r"mistakes\.py:(\d+)")
_MARK = re.compile(r"(  # type: ignore\[[\w, -]+\])?  # !$")


def error_of(program: Mistake) -> PenstockError | None:
    """Runs the program and gives its error; any other exception than ours goes through."""
    try:
        program()
    except PenstockError as error:
        return error
    return None


def error_texts() -> str:
    """Gives the golden text: chapters of mistakes, each with what it gives."""
    chapters = []
    for chapter, programs in MISTAKES.items():
        texts = [f"{name}: {_outcome(program)}\n" for name, program in programs.items()]
        chapters.append(f"# {chapter}\n\n" + "\n".join(texts))
    return "\n".join(chapters)


def _outcome(program: Mistake) -> str:
    try:
        dropped = program()
    except PenstockError as error:
        return f"{type(error).__name__}\n{_SITE.sub(_line, str(error))}"
    counts = [f"  {count} at {node}: {why}" for (node, why), count in sorted(dropped.items())]
    return "records dropped\n" + "\n".join(counts)


def _line(site: re.Match[str]) -> str:
    """Shows the line instead of its number, which changes with every line above it."""
    return f"mistakes.py: {_MARK.sub('', line_at(int(site[1])))}"


def line_at(number: int) -> str:
    return linecache.getline(str(mistakes.__file__), number).strip()
