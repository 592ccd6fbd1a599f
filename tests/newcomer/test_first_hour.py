"""The first hour without Spark: the wheel's files in an empty home folder, and what users see then.

The packages are those of this checkout. ``test_path.py`` installs them as a user does, and goes on
to Spark.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.newcomer.wheel import build, fresh_environment

FAILING = """
from penstock import StreamsBuilder
from penstock.testing import TopologyTestDriver


def test_records_of_nobody_count() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=str, value=str).group_by_key().count().to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe("in", ("ann", "x"), (None, "x"))
        assert driver.read_values("out") == [1, 2]
"""

#: As if these packages had not been installed.
WITHOUT = """
import sys


class Without:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "starlette", "granian"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Without)
"""


class Newcomer:
    """Runs commands as somebody who has installed the wheel a moment ago."""

    def __init__(self, site: Path, home: Path) -> None:
        self.folder = home / "projects"
        self.environment = fresh_environment(home, PYTHONPATH=str(site), COLUMNS="100")
        self.folder.mkdir()

    def run(
        self, *command: str, folder: str = ".", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", *command], cwd=self.folder / folder,
            env=self.environment | variables, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(build("wheel", tmp_path_factory.mktemp("wheel"))) as content:
        content.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def shop(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``penstock init shop`` makes."""
    made = Newcomer(site, tmp_path_factory.mktemp("made") / "home")
    assert made.run("penstock", "init", "shop").returncode == 0
    return made.folder / "shop"


@pytest.fixture
def newcomer(site: Path, shop: Path, tmp_path: Path) -> Newcomer:
    made = Newcomer(site, tmp_path / "home")
    shutil.copytree(shop, made.folder / "shop")
    return made


def test_operators_have_the_name_the_line_and_the_text_of_the_program(newcomer: Newcomer) -> None:
    done = newcomer.run("penstock", "describe", "app.py", folder="shop")
    program = (newcomer.folder / "shop" / "app.py").read_text().splitlines()
    line = 1 + next(number for number, text in enumerate(program) if ".filter(" in text)
    assert f"filter · app.py:{line} · lambda _, order: order.amount > 0" in done.stdout


def test_a_failing_test_shows_ones_own_lines_and_what_was_dropped(newcomer: Newcomer) -> None:
    (newcomer.folder / "shop" / "tests" / "test_mine.py").write_text(FAILING)
    done = newcomer.run("pytest", "-p", "no:randomly", "tests/test_mine.py", folder="shop")
    assert done.returncode == 1
    assert "site-packages" not in done.stdout
    assert "penstock/kernel" not in done.stdout
    assert "null-key-or-value in count · test_mine.py:" in done.stdout
    assert len(done.stdout.splitlines()) < 60


def test_a_script_of_sql_that_asserts_nothing_does_not_pass(newcomer: Newcomer) -> None:
    assert newcomer.run("penstock", "init", "bank", "--template", "sql").returncode == 0
    done = newcomer.run("penstock", "sql", "test", "tests", folder="bank")
    assert (done.returncode, "1 of 1" in done.stdout) == (0, True)
    script = "CREATE STREAM s (n INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);\n"
    (newcomer.folder / "bank" / "tests" / "orders_test.sql").write_text(script)
    done = newcomer.run("penstock", "sql", "test", "tests", folder="bank")
    assert done.returncode == 1
    assert "ASSERT" in done.stdout + done.stderr


def test_a_home_that_cannot_be_written_to_is_named(newcomer: Newcomer) -> None:
    """Even root cannot make a folder in a file."""
    file = newcomer.folder / "file"
    file.touch()
    done = newcomer.run("penstock", "broker", "start", folder="shop", HOME=str(file))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "cache-not-writable" in done.stderr
    assert "XDG_CACHE_HOME" in done.stderr


@pytest.mark.parametrize(
    ("command", "extra"),
    [(("server",), "server"), (("run", "app.py"), "spark"), (("demo",), "spark")],
)
def test_a_command_without_its_extra_says_so_before_it_starts_anything(
    newcomer: Newcomer, command: tuple[str, ...], extra: str
) -> None:
    hidden = newcomer.folder / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(WITHOUT)
    path = f"{hidden}:{newcomer.environment['PYTHONPATH']}"
    done = newcomer.run("penstock", *command, folder="shop", PYTHONPATH=path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "pip install 'penstock-streams[" in done.stderr
    assert extra in done.stderr
    assert "broker" not in done.stdout
    assert not (newcomer.folder / "shop" / ".penstock").exists()
