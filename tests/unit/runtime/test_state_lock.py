"""One driver per state directory: the second one is refused, with the process that has it."""

import json
import os
import stat
from pathlib import Path

import pytest

from penstock.errors import StoreError
from penstock.runtime.spark.driver.state_lock import StateLock


def test_a_directory_is_taken_by_one_driver_at_a_time(tmp_path: Path) -> None:
    """The error names the process; after ``release`` the directory is free."""
    first, second = StateLock(tmp_path / "app"), StateLock(tmp_path / "app")
    first.acquire()
    with pytest.raises(StoreError, match=f"in use by process {os.getpid()}") as error:
        second.acquire()
    assert error.value.code == "state-locked"
    first.release()
    second.acquire()
    second.release()


def test_the_file_names_the_newest_owner_only(tmp_path: Path) -> None:
    """What a longer process id left behind is cut off."""
    (tmp_path / ".lock").write_text(json.dumps({"pid": 10**12}))
    lock = StateLock(tmp_path)
    lock.acquire()
    assert json.loads((tmp_path / ".lock").read_text()) == {"pid": os.getpid()}
    lock.release()


def test_an_owner_that_left_no_readable_note_is_unknown(tmp_path: Path) -> None:
    """A driver that was killed while it wrote is not a reason for another error."""
    first, second = StateLock(tmp_path), StateLock(tmp_path)
    first.acquire()
    (tmp_path / ".lock").write_text("{")
    with pytest.raises(StoreError, match="in use by process unknown"):
        second.acquire()
    first.release()


@pytest.mark.parametrize(("shared", "mode"), [(False, 0o750), (True, 0o770)])
def test_the_group_may_write_only_where_it_is_wanted(
    tmp_path: Path, shared: bool, mode: int
) -> None:
    """Workers may run as another user of the same group. Nobody else may look inside."""
    lock = StateLock(tmp_path / "app")
    lock.acquire(group_may_write=shared)
    assert stat.S_IMODE((tmp_path / "app").stat().st_mode) & 0o775 == mode & 0o775
    lock.release()


def test_a_lock_that_was_never_taken_is_released_without_harm(tmp_path: Path) -> None:
    """A start that failed early closes what it can."""
    StateLock(tmp_path).release()
    assert not (tmp_path / ".lock").exists()


@pytest.mark.parametrize("folder", ["/proc/nope", "/dev/null/state"])
def test_a_folder_that_cannot_be_made_is_an_error_with_a_fix(folder: str) -> None:
    """``penstock run -c state.dir=/proc/nope`` is a typing error, not a bug of Penstock."""
    with pytest.raises(StoreError) as raised:
        StateLock(Path(folder) / "app").acquire()
    assert raised.value.code == "bad-state-dir"
    assert f"'{folder}/app' cannot be used" in raised.value.message
    assert "state.dir" in (raised.value.fix or "")
