"""Locks, logs and numbers in the folder of a Java process."""

import os
from pathlib import Path

from penstock.kafka.processes.process_files import is_locked, locked, number_in, tail_of


def test_a_folder_has_one_process(tmp_path: Path) -> None:
    """The lock goes with the open file, whoever holds it."""
    folder = tmp_path / "new"
    assert not is_locked(folder)
    lock = locked(folder)
    assert lock is not None
    assert is_locked(folder)
    assert locked(folder) is None
    os.close(lock)
    assert not is_locked(folder)


def test_logs_and_numbers_may_be_missing(tmp_path: Path) -> None:
    """A process may have ended before it wrote them."""
    assert "no log" in tail_of(tmp_path / "log")
    assert number_in(tmp_path / "pid") is None
    (tmp_path / "pid").write_text("x", encoding="utf-8")
    assert number_in(tmp_path / "pid") is None
    (tmp_path / "pid").write_text("7\n", encoding="utf-8")
    assert number_in(tmp_path / "pid") == 7
    (tmp_path / "log").write_text("a\nb\nc\n", encoding="utf-8")
    assert tail_of(tmp_path / "log", 2) == "    b\n    c"
