"""The bundle that is committed is what its sources give."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSOLE = ROOT / "console"
STATIC = ROOT / "src/penstock/serving/console/static"


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


@pytest.mark.slow
def test_the_committed_bundle_is_what_the_sources_give(tmp_path: Path) -> None:
    """The same sources always give the same bytes."""
    node = shutil.which("node")
    if node is None or not (CONSOLE / "node_modules").is_dir():
        pytest.skip("needs Node, and `npm ci` in console/")
    subprocess.run([node, "build.mjs", "--out", str(tmp_path)], cwd=CONSOLE, check=True)
    assert contents(tmp_path) == contents(STATIC)
