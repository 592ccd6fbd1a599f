"""Regular expressions that take time in proportion to the text: the engine of ``java_regex``.

RE2 never backtracks, so no pattern and no text can hold a process. Without the package
``google-re2`` (extra ``sql``), Python's engine runs the same patterns with the same results, and a
bad pattern may take long.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from penstock.model.sql.errors import FunctionError

#: What RE2 may use for one pattern. It also bounds how many steps a pattern has.
_MEMORY_BYTES = 1 << 20
#: Steps of a pattern times characters of a text: a few seconds at most.
_MAX_WORK = 2_000_000_000
#: The name of the engine's package; tests replace it.
PACKAGE = "re2"

Span = tuple[int, int]
NO_SPAN: Span = (-1, -1)


@dataclass(frozen=True, slots=True)
class Found:
    """One match. Group 0 is the whole match; a group that took no part is None."""

    text: str
    spans: tuple[Span, ...]

    def __getitem__(self, group: int) -> str | None:
        start, end = self.spans[group]
        return None if start < 0 else self.text[start:end]

    @property
    def start(self) -> int:
        return self.spans[0][0]

    @property
    def end(self) -> int:
        return self.spans[0][1]


@dataclass(frozen=True, slots=True)
class LinearPattern:
    """A compiled pattern.

    ``engine`` is the compiled pattern of RE2 or of Python. ``groups`` has the engine's number of
    every group that the user sees, ``ends`` those of groups that stand for the line end before the
    end of the text: they are cut off what was found.
    """

    engine: Any
    groups: tuple[int, ...]
    names: dict[str, int] = field(default_factory=dict)
    ends: tuple[int, ...] = ()
    steps: int = 1

    def search(self, text: str) -> Found | None:
        """Return the first match."""
        return next(self.finditer(text), None)

    def finditer(self, text: str) -> Iterator[Found]:
        """Yield every match, from left to right.

        Raises:
            FunctionError: ``pattern-budget``: pattern and text together are too large.
        """
        if self.steps * len(text) > _MAX_WORK:
            raise FunctionError(
                "pattern-budget",
                f"a pattern of {self.steps} steps is too large for a text of {len(text)}"
                f" characters: the product may be {_MAX_WORK}",
                fix="use a smaller pattern: repetitions such as {1000} make large ones",
            )
        last = NO_SPAN
        for match in self.engine.finditer(text):
            span = match.span()
            # RE2 returns an empty match twice if it is not at the place where the search began.
            if span != last:
                last = span
                yield self._found(match, text)

    def fits(self, text: str) -> bool:
        """Return whether the pattern matches the whole text."""
        match = self.engine.fullmatch(text)
        return match is not None

    def _found(self, match: Any, text: str) -> Found:
        spans = [match.span(0), *(match.span(number) for number in self.groups)]
        ends = [start for start, _ in map(match.span, self.ends) if start >= 0]
        if ends:
            end = min(ends)
            spans = [(min(a, end), min(b, end)) if a >= 0 else NO_SPAN for a, b in spans]
        return Found(text, tuple(spans))


def is_linear() -> bool:
    """Return whether RE2 is installed."""
    return find_spec(PACKAGE) is not None


def compiled(pattern: str) -> tuple[Any, int]:
    """Return the engine's pattern, and the number of its steps.

    Raises:
        re.error: the pattern is not valid.
        FunctionError: ``unsupported-pattern``: it is too large.
    """
    if not is_linear():
        return re.compile(pattern, re.ASCII), 1
    re2: Any = importlib.import_module(PACKAGE)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_BYTES
    try:
        made = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        if "repetition" in text or "large" in text:
            raise FunctionError(
                "unsupported-pattern",
                f"a pattern is too large: {text}",
                fix="repeat less: nested repetitions are multiplied, and 1000 is the most",
            ) from None
        raise re.error(text) from None
    return made, max(1, made.programsize)
