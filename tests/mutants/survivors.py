"""Faults that no test notices, and why that is right: ``survivors.toml``."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.faults import Fault

FILE = Path(__file__).with_name("survivors.toml")
Id = tuple[str, ...]
_FIELDS = ("module", "function", "kind", "line", "change")


def reasons(file: Path = FILE) -> dict[Id, str]:
    """Return the reason of every known survivor, by the id of its fault."""
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("survivor", [])
    return {tuple(entry[name] for name in _FIELDS): entry["reason"] for entry in entries}


def entry(fault: Fault) -> str:
    """Return a fault as an entry of the file that still lacks its reason."""
    lines = [f"{name} = {_quoted(each)}" for name, each in zip(_FIELDS, fault.id, strict=True)]
    return "\n".join(["[[survivor]]", *lines, 'reason = ""', ""])


def difference(fault: Fault, name: str, source: str) -> str:
    """Return what a fault changes, as a unified diff."""
    planted = fault.planted_in(source)
    lines = (text.splitlines(keepends=True) for text in (source, planted))
    return "".join(difflib.unified_diff(*lines, f"a/src/{name}", f"b/src/{name}", n=2))


def stale(known: Iterable[Id], faults: Iterable[Fault]) -> list[Id]:
    """Return the known survivors that can no longer be planted: their lines have changed."""
    return sorted({*known} - {fault.id for fault in faults})


def _quoted(text: str) -> str:
    """Return a text as TOML writes it. JSON's escapes are a part of TOML's."""
    return f"'{text}'" if "'" not in text and '"' in text else json.dumps(text, ensure_ascii=False)
