"""Functions with regular expressions, which are Java's: see ``java_regex``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence

from penstock.model.sql.errors import FunctionError
from penstock.sql.functions.declare import scalar
from penstock.sql.functions.regex.java_regex import java_pattern
from penstock.sql.functions.regex.linear_regex import Found, LinearPattern

_REFERENCE = re.compile(r"\\(.)|\$(\d{1,9})|\$\{(\w+)\}", re.DOTALL)


def _check_first(texts: Sequence[str | None]) -> None:
    _check(texts[0])


def _check_second(texts: Sequence[str | None]) -> None:
    _check(texts[1])


def _check(pattern: str | None) -> None:
    """Refuse a pattern that the engine cannot run; one that is not valid gives NULL, as in ksqlDB.

    Raises:
        FunctionError: ``unsupported-pattern``.
    """
    if pattern is not None:
        with contextlib.suppress(re.error):
            java_pattern(pattern)


@scalar("REGEXP_EXTRACT", "STRING, STRING -> STRING", check=_check_first)
def regexp_extract(pattern: str, text: str) -> str | None:
    """Return the first match, or one group of it."""
    return regexp_extract_group(pattern, text, 0)


@scalar("REGEXP_EXTRACT", "STRING, STRING, INTEGER -> STRING", check=_check_first)
def regexp_extract_group(pattern: str, text: str, group: int) -> str | None:
    compiled = java_pattern(pattern)
    if not 0 <= group <= len(compiled.groups):
        return None
    match = compiled.search(text)
    return match[group] if match else None


@scalar("REGEXP_EXTRACT_ALL", "STRING, STRING -> ARRAY<STRING>", check=_check_first)
def regexp_extract_all(pattern: str, text: str) -> list[str | None] | None:
    """Return every match, or one group of each."""
    return regexp_extract_all_groups(pattern, text, 0)


@scalar("REGEXP_EXTRACT_ALL", "STRING, STRING, INTEGER -> ARRAY<STRING>", check=_check_first)
def regexp_extract_all_groups(pattern: str, text: str, group: int) -> list[str | None] | None:
    compiled = java_pattern(pattern)
    if not 0 <= group <= len(compiled.groups):
        return None
    return [match[group] for match in compiled.finditer(text)]


@scalar("REGEXP_REPLACE", "STRING, STRING, STRING -> STRING", check=_check_second)
def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    """Replace every match; $1 stands for the first group."""
    pattern_ = java_pattern(pattern)

    def expand(match: Found) -> str:
        def part(reference: re.Match[str]) -> str:
            if reference[1]:
                return reference[1]
            return match[_group(pattern_, reference)] or ""

        return _REFERENCE.sub(part, replacement)

    pieces: list[str] = []
    last = 0
    for match in pattern_.finditer(text):
        pieces += (text[last : match.start], expand(match))
        last = match.end
    return "".join([*pieces, text[last:]])


def _group(pattern: LinearPattern, reference: re.Match[str]) -> int:
    """Return the number of the group that a replacement names."""
    number = pattern.names.get(reference[3], -1) if reference[3] else int(reference[2])
    if not 0 <= number <= len(pattern.groups):
        raise FunctionError(
            "no-such-group",
            f"the pattern has no group {reference[0]}",
            fix="$0 is the whole match, $1 the first group, ${name} the group (?<name>...)",
        )
    return number


@scalar("REGEXP_SPLIT_TO_ARRAY", "STRING, STRING -> ARRAY<STRING>", check=_check_second)
def regexp_split_to_array(text: str, pattern: str) -> list[str]:
    """Split a text wherever a pattern matches."""
    if pattern == "":
        return list(text)
    pieces, start = [], 0
    for match in java_pattern(pattern).finditer(text):
        if match.end == match.start and match.start in (0, len(text)):
            continue
        pieces.append(text[start : match.start])
        start = match.end
    return [*pieces, text[start:]]
