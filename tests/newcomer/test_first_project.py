"""The first hour with Spark: the wheel of ``make wheel`` with all extras, in an empty home folder.

It needs a package index, and downloads Spark and Kafka: ``make newcomer`` takes some minutes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tests.newcomer.wheel import fresh_environment

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.kafka]

FRAME = """
import penstock
frame = penstock.read("order-counts", key=str, value=int).latest().to_pandas()
print(len(frame), int(frame["value"].sum()) > 0, frame["timestamp"].dtype.kind)
"""


class Shell:
    """A project and the tools of a fresh environment, all below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder, folder / "venv" / "bin"
        java = shutil.which("java")
        found = f"{self.bin}:/usr/bin:/bin" + ("" if java is None else f":{Path(java).parent}")
        self.environment = fresh_environment(folder / "home", PATH=found, COLUMNS="120")
        self.started: list[subprocess.Popen[str]] = []

    def run(self, *command: str, within_s: float = 600) -> str:
        done = subprocess.run(
            command, cwd=self.folder / "shop", env=self.environment, timeout=within_s,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    def start(self, *command: str) -> tuple[subprocess.Popen[str], Callable[[], str]]:
        """Start a command; return it, and what returns its output so far."""
        file = self.folder / f"output-{len(self.started)}.txt"
        with file.open("w") as output:
            process = subprocess.Popen(
                command, cwd=self.folder / "shop", env=self.environment, text=True,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.started.append(process)
        return process, file.read_text

    def sweep(self) -> None:
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(is_so: Callable[[], bool], told: Callable[[], str], within_s: float = 180) -> None:
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline, told()
        time.sleep(0.2)


def end(process: subprocess.Popen[str], told: Callable[[], str], within_s: float) -> None:
    """Press Ctrl-C, which a terminal tells all processes of a command."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"it still runs after {within_s} s:\n{told()}") from None
    assert "Traceback" not in told()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of ``make wheel`` in an environment, made with pip and ``build``."""
    folder = tmp_path_factory.mktemp("newcomer")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        copied = folder / "checkout" / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copied)
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    environment = fresh_environment(folder / "home")
    subprocess.run(
        ["make", "wheel", "UV=", f"PYTHON={python}"], cwd=folder / "checkout", env=environment,
        check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = (folder / "checkout" / "dist").glob("*.whl")
    build = folder / "checkout" / ".build-venv" / "bin" / "python"
    packages = subprocess.run(
        [build, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    names = {line.partition("==")[0] for line in packages}
    assert names <= {"build", "packaging", "pip", "pyproject_hooks", "setuptools"}
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", f"{wheel}[all]", "pytest"],
        env=environment, check=True,
    )  # fmt: skip
    return folder


@pytest.fixture
def shell(installed: Path) -> Iterator[Shell]:
    made = Shell(installed)
    shutil.rmtree(installed / "shop", ignore_errors=True)
    (installed / "shop").mkdir()
    yield made
    made.sweep()


def test_a_living_project_and_its_broker_from_other_terminals(shell: Shell) -> None:
    """Samples flow, an edit shows its difference, a mistake is shown, other commands find it."""
    shell.run("penstock", "init")
    assert "2 passed" in shell.run("make", "test")
    app = shell.folder / "shop" / "app.py"
    running, told = shell.start("penstock", "run", "app.py", "--reload")
    wait_for(lambda: "RUNNING" in told(), told)
    assert {"orders", "order-counts"} <= {*shell.run("penstock", "topics", "list").split()}
    consumed = shell.run("penstock", "consume", "order-counts", "--from-beginning", "-n", "3")
    assert len(consumed.splitlines()) >= 3
    shell.run("penstock", "produce", "orders", '{"country": "XX", "amount": 99.0}')
    found = shell.run("python", "-c", FRAME).split()
    assert (int(found[0]) >= 5, found[1:]) == (True, ["True", "M"])
    text = app.read_text()
    app.write_text(text.replace("order.amount > 0", "order.amount > 25"))
    wait_for(lambda: "keys are the same" in told(), told)
    app.write_text(text.replace("builder = StreamsBuilder()", "builder = StreamsBuilder("))
    wait_for(lambda: "waiting for a change" in told(), told)
    end(running, told, 60)


def test_ctrl_c_ends_a_program_whose_broker_cannot_be_reached(shell: Shell) -> None:
    shell.run("penstock", "init")
    running, told = shell.start("penstock", "run", "app.py", "-b", "127.0.0.1:1")
    wait_for(lambda: "127.0.0.1:1" in told(), told)
    time.sleep(2)
    end(running, told, 15)


def test_a_script_of_sql_has_rows(shell: Shell) -> None:
    shell.run("penstock", "init", "--template", "sql", "--force")
    assert "1 of 1 tests pass" in shell.run("make", "test")
    running, told = shell.start("make", "run")
    wait_for(lambda: "RUNNING" in told(), told)
    rows = shell.run("penstock", "consume", "ORDER_TOTALS", "--from-beginning", "-n", "1")
    assert rows.strip()
    end(running, told, 60)
