"""After a crash, data and checkpoint are of the same batch, and no applied batch is lost."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.state.engine.pending import Checkpoint, PendingStore
from penstock.state.engine.rocks import open_rocks
from tests.state.batches import apply_batch, check

REPOSITORY = Path(__file__).parents[2]


def killed(folder: Path, batches: int, wait_s: float) -> int:
    """Kills a process after it has applied some batches; returns the last one that it named."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.state.batches", str(folder)],
        cwd=REPOSITORY, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    named = -1
    for _ in range(batches):
        named = int(child.stdout.readline())
    time.sleep(wait_s)
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read().splitlines(keepends=True)
    child.wait()
    child.stdout.close()
    # The last line may have been cut off.
    return max([named, *(int(line) for line in rest if line.endswith("\n"))])


def test_kill_9_loses_no_batch_that_was_applied(tmp_path: Path) -> None:
    """What is not flushed is in the write-ahead log; a batch that was half written is not seen."""
    folder = tmp_path / "store"
    for batches, wait_s in ((1, 0.0), (40, 0.003), (60, 0.011), (30, 0.007)):
        named = killed(folder, batches, wait_s)
        batch = check(folder)
        # The batch after the last named one may have been applied, but not been named yet.
        assert named <= batch <= named + 1


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a store as they are while it is open, with batches 0 to 19 in the log."""
    base = tmp_path_factory.mktemp("crashed")
    store = PendingStore(open_rocks(base / "open", "store"))
    for number in range(20):
        apply_batch(store, number)
    shutil.copytree(base / "open", base / "store")
    store.close()
    return base / "store"


@pytest.mark.parametrize("share", [0.0, 0.01, 0.33, 0.5, 0.77, 0.99, 1.0])
def test_a_write_ahead_log_that_ends_early_ends_with_a_whole_batch(
    crashed: Path, tmp_path: Path, share: float
) -> None:
    """A power cut loses the end of the log; what is left is one moment, with its checkpoint."""
    folder = Path(shutil.copytree(crashed, tmp_path / "store"))
    log = max(folder.glob("*.log"), key=lambda file: file.stat().st_size)
    data = log.read_bytes()
    log.write_bytes(data[: int(len(data) * share)])
    batch = check(folder)
    assert {0.0: batch == -1, 1.0: batch == 19}.get(share, -1 <= batch < 19)


def test_a_damaged_write_ahead_log_ends_with_a_whole_batch(crashed: Path, tmp_path: Path) -> None:
    """Batches behind the damage are left out, even those that could be read."""
    folder = Path(shutil.copytree(crashed, tmp_path / "store"))
    log = max(folder.glob("*.log"), key=lambda file: file.stat().st_size)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    assert -1 <= check(folder) < 19


def test_ranges_are_deleted_together_with_the_batch(tmp_path: Path) -> None:
    """RocksDB takes both as one batch, and the rows written into a range stay."""
    store = PendingStore(open_rocks(tmp_path, "store"))
    store.write([(b"a", b"1"), (b"b", b"1"), (b"c", b"1")])
    store.seal(Checkpoint(0, 1))
    store.apply()
    store.delete_range(b"a", b"c")
    store.put(b"b", b"2")
    store.seal(Checkpoint(1, 2))
    store.apply()
    store.close()
    again = PendingStore(open_rocks(tmp_path, "store"))
    assert list(again.scan(None, None)) == [(b"b", b"2"), (b"c", b"1")]
    assert again.checkpoint == Checkpoint(1, 2)
    again.close()
