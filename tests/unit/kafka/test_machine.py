"""The environment of processes that are started, while other threads change it."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from penstock.kafka.machine import environment
from penstock.runtime.spark.driver.pickling import fresh_path


@pytest.fixture
def changing_environment() -> Iterator[None]:
    """Another thread sets and deletes variables, as Spark's start does."""
    is_over = threading.Event()

    def change() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            os.environ[f"PENSTOCK_TEST_{number % 512}"] = "x" * (number % 97)
            os.environ.pop(f"PENSTOCK_TEST_{(number * 7) % 512}", None)

    thread = threading.Thread(target=change)
    thread.start()
    yield
    is_over.set()
    thread.join()
    for name in [name for name in os.environ if name.startswith("PENSTOCK_TEST_")]:
        del os.environ[name]


def test_copy_of_the_environment_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_A", "1")
    assert environment() == dict(os.environ)


@pytest.mark.usefixtures("changing_environment")
def test_copy_of_the_environment_bears_changes_by_other_threads() -> None:
    """A plain ``dict(os.environ)`` raises a KeyError when a variable goes meanwhile."""
    for _ in range(2_000):
        assert "PATH" in environment()


@pytest.mark.usefixtures("changing_environment")
def test_search_path_is_found_while_the_environment_changes() -> None:
    """Without a copy the system reads a list that has moved: OSError, Bad address."""
    for _ in range(20):
        assert fresh_path.__wrapped__() == fresh_path()


def test_child_gets_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_A", "1")
    program = "import os; print(os.environ['PENSTOCK_A'])"
    told = subprocess.check_output([sys.executable, "-c", program], env=environment(), text=True)
    assert told == "1\n"
