"""Recognizes damaged databases and full disks. Moves damaged ones away. Engine: ``rocks``."""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path

from penstock.errors import StoreError

log = logging.getLogger(__name__)

#: The code of every error that means: put the database aside and restore it.
DAMAGED = "store-damaged"

#: The code of every error that means: wait until the disk has room again.
DISK_FULL = "disk-full"

#: How many damaged copies of one database stay on disk for inspection.
_MOST_KEPT = 2
#: Words in errors of RocksDB that mean that its files are damaged.
_DAMAGE = re.compile(r"corruption|checksum mismatch|no such file|truncated", re.IGNORECASE)
#: Causes outside the files, which may pass. The database is kept.
_OTHER_CAUSE = re.compile(
    r"no space left|too many open files|permission denied|cannot allocate memory"
    r"|input/output error|read-only file system|quota exceeded",
    re.IGNORECASE,
)


def is_damage(error: Exception) -> bool:
    """Return whether an error of RocksDB means that the files of the database are damaged.

    RocksDB has one class for all errors, so the text decides. A full disk or a limit
    of open files is not damage: restoring from the changelog would not help.
    """
    text = str(error)
    return _DAMAGE.search(text) is not None and _OTHER_CAUSE.search(text) is None


def is_disk_full(error: Exception) -> bool:
    """Return whether an error of RocksDB or of the operating system means a full disk."""
    return re.search(r"no space left|quota exceeded", str(error), re.IGNORECASE) is not None


def disk_full(directory: Path | str, reason: object) -> StoreError:
    """Return the error of a folder on a full disk."""
    return StoreError(
        DISK_FULL,
        f"the disk of the state directory is full: {str(directory)!r} cannot be written ({reason})",
        fix="free some space, and the application continues; or set 'state.dir' to a larger disk"
        " and start again: nothing that was committed is lost",
    )


def has_lost_its_root(directory: Path) -> bool:
    """Return whether a folder has files of a database but not ``CURRENT``, its root.

    RocksDB would create an empty database there and delete the files.
    """
    if (directory / "CURRENT").exists():
        return False
    return any(directory.glob("MANIFEST-*")) or any(directory.glob("*.sst"))


def store_damaged(directory: Path | str, store: str, reason: object) -> StoreError:
    """Return the error of a store whose files are damaged."""
    return StoreError(
        DAMAGED,
        f"store {store!r}: the database in {str(directory)!r} is damaged ({reason})",
        fix="start again: the database is put aside and the store is restored from its changelog;"
        " check the disk if it happens again",
    )


def set_aside(directory: Path) -> Path:
    """Rename a damaged database to ``<name>.damaged-<n>`` beside it and return the new path.

    The store must be closed. The two newest damaged copies stay for inspection, older ones are
    deleted: a disk that damages every database must not fill up with them as well.

    Raises:
        StoreError: ``store-set-aside-failed`` if the folder cannot be renamed.
    """
    copies = _damaged_copies(directory)
    number = max(copies, default=0) + 1
    aside = directory.with_name(f"{directory.name}.damaged-{number}")
    try:
        directory.rename(aside)
    except OSError as error:
        raise StoreError(
            "store-set-aside-failed",
            f"the damaged database in {str(directory)!r} cannot be renamed to {aside.name!r}"
            f" ({error})",
            fix="check that the parent folder can be written, or delete the database:"
            " the store is restored from its changelog",
        ) from error
    log.warning("the damaged database in %s was put aside as %s", directory, aside)
    for old in sorted(copies)[: max(len(copies) + 1 - _MOST_KEPT, 0)]:
        shutil.rmtree(copies[old], ignore_errors=True)
    return aside


def _damaged_copies(directory: Path) -> dict[int, Path]:
    """Return the copies that were put aside before, by number."""
    name = re.compile(re.escape(directory.name) + r"\.damaged-(\d+)")
    parent = directory.parent
    found = ((name.fullmatch(path.name), path) for path in parent.iterdir())
    return {int(match[1]): path for match, path in found if match is not None}
