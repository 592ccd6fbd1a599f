"""Case files: JSON with statements, input and output; a case runs once for each format it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.testing.sql.records import load


@dataclass(frozen=True, slots=True)
class Case:
    """One case with its placeholders replaced."""

    file: str
    name: str
    data: dict[str, Any]

    @property
    def statements(self) -> list[str]:
        return list(self.data["statements"])

    @property
    def inputs(self) -> list[dict[str, Any]]:
        return list(self.data.get("inputs") or ())

    @property
    def outputs(self) -> list[dict[str, Any]]:
        return list(self.data.get("outputs") or ())

    @property
    def topics(self) -> list[dict[str, Any]]:
        given = self.data.get("topics") or ()
        return [{"name": each} if isinstance(each, str) else dict(each) for each in given]

    @property
    def settings(self) -> dict[str, str]:
        return {name: _text(value) for name, value in (self.data.get("properties") or {}).items()}

    @property
    def is_refused(self) -> bool:
        return "expectedException" in self.data or "expectedError" in self.data

    @property
    def post(self) -> dict[str, Any]:
        return dict(self.data.get("post") or {})


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def case_files(paths: Iterable[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        files.extend(sorted(path.glob("**/*.json")) if path.is_dir() else [path])
    return files


def cases_in(path: Path) -> Iterator[Case]:
    """Gives the cases of a file, expanded by format; disabled ones are left out."""
    for data in load(path.read_bytes())["tests"]:
        if data.get("enabled") is False:
            continue
        formats = data.get("format") or [None]
        for name in formats:
            yield _expanded(path.name, data, name)


def _expanded(file: str, data: dict[str, Any], name: str | None) -> Case:
    if name is None:
        replaced = data
        title = data["name"]
    else:
        replaced = _replaced(data, name)
        title = f"{data['name']} - {name}"
    return Case(file, title, replaced)


def _replaced(value: Any, name: str) -> Any:
    match value:
        case str():
            return value.replace("{FORMAT}", name)
        case list():
            return [_replaced(item, name) for item in value]
        case dict():
            return {key: _replaced(item, name) for key, item in value.items()}
        case _:
            return value
