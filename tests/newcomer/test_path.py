"""The whole way of a newcomer: pip, a project of their own, its tests, and what is not installed.

It needs a package index.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.newcomer.wheel import build, fresh_environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a new environment into which pip has installed the wheel and pytest."""
    folder = tmp_path_factory.mktemp("newcomer")
    wheel = build("wheel", folder / "dist")
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / "bin"
    subprocess.run(
        [scripts / "python", "-m", "pip", "install", "--quiet", str(wheel), "pytest"],
        env=fresh_environment(folder / "home"), check=True,
    )  # fmt: skip
    return scripts


def test_from_pip_to_a_tested_project_of_ones_own(tools: Path, tmp_path: Path) -> None:
    """No Java, no Spark, no Kafka: ``pip install``, ``penstock init``, ``make test``."""
    environment = fresh_environment(tmp_path / "home")
    subprocess.run([tools / "penstock", "init", "shop"], cwd=tmp_path, env=environment, check=True)
    done = subprocess.run(
        ["make", "test", f"BIN={tools}/"], cwd=tmp_path / "shop", env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_running_without_the_extra_says_what_to_install(tools: Path, tmp_path: Path) -> None:
    environment = fresh_environment(tmp_path / "home")
    subprocess.run([tools / "penstock", "init"], cwd=tmp_path, env=environment, check=True)
    for command in (["run", "app.py", "-b", "127.0.0.1:1"], ["run", "app.py"], ["demo"]):
        done = subprocess.run(
            [tools / "penstock", *command], cwd=tmp_path, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1, done.stdout
        assert "pip install 'penstock-streams[" in done.stderr
        assert "Traceback" not in done.stderr


def test_installation_without_spark_is_small(tools: Path) -> None:
    """Most of it is Arrow, numpy and the client of Kafka."""
    packages = tools.parent / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    assert not (packages / "pyspark").exists()
    size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file())
    assert size < 500_000_000
