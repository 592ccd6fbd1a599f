"""What is in the wheel and the source distribution, and what they ask for."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import penstock
from penstock.extras import EXTRAS
from tests.architecture.source import PACKAGE
from tests.newcomer.wheel import build, fresh_environment


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as pip would unpack it, without what it depends on."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(folder)
    return folder


def test_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Also the grammar, the marker for type checkers, and the template of a project."""
    with zipfile.ZipFile(wheel) as content:
        names = {name for name in content.namelist() if name.startswith("penstock/")}
    package = {
        f"penstock/{file.relative_to(PACKAGE).as_posix()}"
        for file in PACKAGE.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert names == package
    assert {"penstock/py.typed", "penstock/cli/init/files/streams/app.py.txt"} <= names


def test_wheel_asks_for_spark_only_in_its_extra(wheel: Path) -> None:
    """A test that runs in one process needs neither Spark nor Java."""
    with zipfile.ZipFile(wheel) as content:
        (name,) = [each for each in content.namelist() if each.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(content.read(name).decode())
        licences = [each for each in content.namelist() if each.endswith("licenses/LICENSE")]
        points = content.read(name.replace("METADATA", "entry_points.txt")).decode()
    assert (metadata["Name"], metadata["Version"]) == ("penstock-streams", penstock.__version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert licences
    assert "penstock = penstock.cli.main:main" in points
    assert {*EXTRAS, "all", "docs"} == set(metadata.get_all("Provides-Extra") or ())
    always, with_spark = set(), set()
    for requirement in map(Requirement, metadata.get_all("Requires-Dist") or ()):
        marker = requirement.marker
        if marker is None:
            always.add(requirement.name)
        elif marker.evaluate({"extra": "spark"}):
            with_spark.add(requirement.name)
    assert with_spark == {"pyspark"}
    assert {"confluent-kafka", "lark", "pyarrow", "rocksdict"} <= always
    assert not {"pyspark", "granian", "hypothesis", "pytest"} & always


def test_source_distribution_can_be_built_from(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as content:
        names = {name.partition("/")[2] for name in content.getnames()}
    wanted = {
        "LICENSE", "README.md", "pyproject.toml", "src/penstock/py.typed", "Makefile",
        "deploy/docker/Dockerfile", "requirements/dev.lock", "tests/conftest.py",
    }  # fmt: skip
    assert wanted <= names


def test_importing_the_package_takes_less_than_300_ms(site: Path, tmp_path: Path) -> None:
    """The best of some attempts: this machine may be busy."""
    code = "import time; t = time.perf_counter(); import penstock; print(time.perf_counter() - t)"
    environment = fresh_environment(tmp_path, PYTHONPATH=str(site))
    seconds = [
        float(subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, check=True
        ).stdout)
        for _ in range(5)
    ]  # fmt: skip
    assert min(seconds) < 0.3


def test_new_project_from_the_wheel_passes_its_tests(site: Path, tmp_path: Path) -> None:
    """The short form of ``test_path.py``: the wheel's files, with the packages of this checkout."""
    environment = fresh_environment(tmp_path / "home", PYTHONPATH=str(site))
    subprocess.run(
        [sys.executable, "-m", "penstock", "init", "shop"], cwd=tmp_path, env=environment,
        check=True, capture_output=True,
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:randomly"], cwd=tmp_path / "shop",
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    where = subprocess.run(
        [sys.executable, "-c", "import penstock; print(penstock.__file__)"],
        cwd=tmp_path / "shop", env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert where.stdout.startswith(str(site))
