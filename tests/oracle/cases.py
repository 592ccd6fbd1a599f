"""Reads case files and selects from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class CaseFileError(Exception):
    """A path that holds no cases: missing, unreadable, or not in the case format."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case and the file it came from."""

    path: Path
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def golden(self) -> Mapping[str, Any]:
        golden: Mapping[str, Any] = self.data["golden"]
        return golden

    def matches(self, needle: str) -> bool:
        """Tells whether the name or a feature contains the text."""
        return any(needle in text for text in (self.name, *self.data.get("features", [])))


def case_files(paths: Iterable[Path]) -> list[Path]:
    """Gives the files, and the JSON files under the folders, each once and in order."""
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise CaseFileError(f"{path}: no such file or folder")
        files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        found.update(dict.fromkeys(files))
    return list(found)


def load(path: Path) -> list[Case]:
    """Reads one case file: an array of cases, or one case."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CaseFileError(f"{path}: {error}") from error
    cases = content if isinstance(content, list) else [content]
    for case in cases:
        if not isinstance(case, dict) or not {"name", "topology", "inputs", "golden"} <= set(case):
            raise CaseFileError(f"{path}: not an array of cases with goldens")
    return [Case(path, case) for case in cases]
