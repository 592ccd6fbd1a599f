"""Functions with regular expressions, which are Java's: see ``java_regex``."""

from __future__ import annotations

import re

from penstock.sql.functions.declare import scalar
from penstock.sql.functions.java_regex import java_pattern

_REFERENCE = re.compile(r"\\(.)|\$(\d+)|\$\{(\w+)\}", re.DOTALL)


@scalar("REGEXP_EXTRACT", "STRING, STRING -> STRING")
def regexp_extract(pattern: str, text: str) -> str | None:
    """Return the first match, or one group of it."""
    return regexp_extract_group(pattern, text, 0)


@scalar("REGEXP_EXTRACT", "STRING, STRING, INTEGER -> STRING")
def regexp_extract_group(pattern: str, text: str, group: int) -> str | None:
    compiled = java_pattern(pattern)
    if not 0 <= group <= compiled.groups:
        return None
    match = compiled.search(text)
    return match[group] if match else None


@scalar("REGEXP_EXTRACT_ALL", "STRING, STRING -> ARRAY<STRING>")
def regexp_extract_all(pattern: str, text: str) -> list[str] | None:
    """Return every match, or one group of each."""
    return regexp_extract_all_groups(pattern, text, 0)


@scalar("REGEXP_EXTRACT_ALL", "STRING, STRING, INTEGER -> ARRAY<STRING>")
def regexp_extract_all_groups(pattern: str, text: str, group: int) -> list[str] | None:
    compiled = java_pattern(pattern)
    if not 0 <= group <= compiled.groups:
        return None
    return [match[group] for match in compiled.finditer(text)]


@scalar("REGEXP_REPLACE", "STRING, STRING, STRING -> STRING")
def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    """Replace every match; $1 stands for the first group."""

    def expand(match: re.Match[str]) -> str:
        def part(reference: re.Match[str]) -> str:
            if reference[1]:
                return reference[1]
            group: str | int = reference[3] or int(reference[2])
            return match[group] or ""

        return _REFERENCE.sub(part, replacement)

    return java_pattern(pattern).sub(expand, text)


@scalar("REGEXP_SPLIT_TO_ARRAY", "STRING, STRING -> ARRAY<STRING>")
def regexp_split_to_array(text: str, pattern: str) -> list[str]:
    """Split a text wherever a pattern matches."""
    if pattern == "":
        return list(text)
    pieces, start = [], 0
    for match in java_pattern(pattern).finditer(text):
        if match.end() == match.start() and match.start() in (0, len(text)):
            continue
        pieces.append(text[start : match.start()])
        start = match.end()
    return [*pieces, text[start:]]
