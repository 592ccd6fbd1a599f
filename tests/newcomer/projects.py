"""Check the types of every project that ``penstock init`` makes, as a user with strict mypy would.

``make lint`` calls it: ``python -m tests.newcomer.projects``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from penstock.cli.init.templates import TEMPLATES, Template
from tests.architecture.source import PACKAGE, ROOT


def write_project(template: str, folder: Path) -> Path:
    """Write the files of a template into a folder, and return it."""
    for path, text in TEMPLATES[template].files("shop").items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def problems(folder: Path) -> str:
    """Return what mypy says about a project; nothing if its types are right."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary",
         "--cache-dir", str(ROOT / ".mypy_cache" / "projects"), "."],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def can_be_checked(template: Template) -> bool:
    """Return whether the packages that its tests import are installed here."""
    needed = {"fastapi", "httpx"} & {*template.packages, *template.tested_with}
    return all(find_spec(package) is not None for package in needed)


def main() -> int:
    """Print the problems of all projects, and return how many projects have some."""
    wrong = 0
    for template in TEMPLATES:
        if not can_be_checked(TEMPLATES[template]):
            print(f"not checked, a package is missing: penstock init --template {template}")
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = write_project(template, Path(place))
            found = problems(folder) if list(folder.glob("*.py")) else ""
        if found:
            wrong += 1
            print(f"penstock init --template {template}:\n{found}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
