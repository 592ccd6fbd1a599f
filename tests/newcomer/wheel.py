"""The wheel of this checkout, and an environment in which nothing else of the user is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT


def build(target: str, folder: Path) -> Path:
    """Build the ``wheel`` or the ``sdist``, and return its file."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (made,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


def fresh_environment(home: Path, **more: str) -> dict[str, str]:
    """The variables of a user with an empty home folder and without Java on the path."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "UV_", "SSL_", "REQUESTS_", "LC_", "LANG"))
        or name.lower().endswith("_proxy")
    }
    home.mkdir(parents=True, exist_ok=True)
    return {**kept, "HOME": str(home), "PATH": "/usr/bin:/bin", **more}
