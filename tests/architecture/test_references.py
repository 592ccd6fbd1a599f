"""Docstrings and comments name only modules that exist."""

import re
from pathlib import Path

from penstock.config import SETTINGS
from tests.architecture.source import PACKAGE, modules, relative

PACKAGES = {each.name for each in PACKAGE.iterdir() if each.is_dir()}
REFERENCE = re.compile(r"``(penstock\.)?([a-z_]+(?:\.[A-Za-z_]+)+)(?:\(\))?``")


def module_of(parts: list[str]) -> tuple[Path, list[str]] | None:
    """The file of the longest module that a dotted name begins with, and the rest of the name."""
    for end in range(len(parts), 0, -1):
        base = PACKAGE.joinpath(*parts[:end])
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if file.exists():
                return file, parts[end:]
    return None


def is_known(name: str) -> bool:
    found = module_of(name.split("."))
    if found is None:
        return False
    file, rest = found
    # What is left is a name in the module; its own attributes are not looked up.
    return not rest or re.search(rf"\b{rest[0]}\b", file.read_text(encoding="utf-8")) is not None


def test_every_module_that_is_named_exists() -> None:
    """A module that is moved is moved in docstrings and comments, too."""
    lost = [
        f"{relative(file)}: {name}"
        for file in modules()
        for prefix, name in REFERENCE.findall(file.read_text(encoding="utf-8"))
        if (prefix or name.partition(".")[0] in PACKAGES)
        if prefix + name not in SETTINGS and not is_known(name)
    ]
    assert lost == []
