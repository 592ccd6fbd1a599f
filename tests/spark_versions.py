"""Run the tests on Spark with other versions of PySpark than the locked one.

``make spark-versions`` calls it: ``python -m tests.spark_versions 3.5 4.3 -- -k streams``. Each
version gets an environment in ``.spark-venvs``: it has PySpark, and everything else from ``.venv``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.architecture.source import ROOT

#: The oldest and the newest that ``pyproject.toml`` allows.
VERSIONS = ("3.5", "4.3")
_ENVIRONMENTS = ROOT / ".spark-venvs"


def environment(version: str) -> Path:
    """Return the interpreter of the environment with this PySpark, which is made if it is new."""
    folder = _ENVIRONMENTS / version
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"spark-versions: installing PySpark {version} into {folder}", flush=True)
        venv.create(folder, with_pip=True)
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
              f"pyspark=={version}.*"])  # fmt: skip
        # What this environment does not have itself comes from the one of the project.
        packages = Path(_packages(python)) / "project.pth"
        packages.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def test(version: str, arguments: list[str]) -> int:
    """Run the tests on Spark with one version, and return pytest's exit code."""
    python = environment(version)
    home = Path(_packages(python)) / "pyspark"
    settings = {"PYSPARK_PYTHON": str(python), "SPARK_HOME": str(home)}
    print(f"spark-versions: PySpark {version}", flush=True)
    return subprocess.run(
        [str(python), "-m", "pytest", "-m", "spark and not slow and not soak and not chaos",
         # Older versions of PySpark leave sockets to Python's garbage collector.
         "-W", "ignore::ResourceWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning",
         *arguments],
        cwd=ROOT, env={**os.environ, **settings}, check=False,
    ).returncode  # fmt: skip


def _packages(python: Path) -> str:
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return _run([str(python), "-c", asked]).strip()


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def main() -> int:
    """Test every version that is asked for, and name those that failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark_versions", description=__doc__)
    parser.add_argument("versions", nargs="*", default=VERSIONS, help="such as 3.5; -- ends them")
    given = sys.argv[1:]
    end = given.index("--") if "--" in given else len(given)
    asked = parser.parse_args(given[:end])
    rest = given[end + 1 :] or ["tests/integration/spark"]
    failed = [version for version in asked.versions if test(version, rest)]
    print(f"spark-versions: failed: {', '.join(failed)}" if failed else "spark-versions: all pass")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
