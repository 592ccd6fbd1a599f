"""A PostgreSQL of one's own, with a change log that can be decoded; Debian's programs run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.kafka.broker_folder import free_port

_DEBIAN = Path("/usr/lib/postgresql")
#: The user that Debian's package makes. PostgreSQL refuses to run as root.
_USER = "postgres"


@dataclass(frozen=True)
class Postgres:
    """Where the database is; its superuser needs no password, and one is given all the same."""

    host: str
    port: int
    user: str = "postgres"
    database: str = "postgres"
    password: str = "not-asked-for"

    @property
    def address(self) -> str:
        return (
            f"host={self.host} port={self.port} dbname={self.database} user={self.user}"
            f" password={self.password}"
        )


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; None if it is not installed."""
    found = sorted(_DEBIAN.glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if found:
        return found[-1].parent
    return None if on_path is None else Path(on_path).resolve().parent


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Start a PostgreSQL on a free port, and remove it afterwards; skip if there is none."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    as_user = ["runuser", "-u", _USER, "--"] if os.getuid() == 0 else []
    root = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
    try:
        if as_user:
            shutil.chown(root, _USER)
        data, port = root / "data", free_port()
        options = f"-p {port} -k {root} -c listen_addresses=127.0.0.1 -c wal_level=logical"
        _run([*as_user, folder / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N"])
        control = [*as_user, folder / "pg_ctl", "-D", data, "-w", "-t", "120"]
        _run([*control, "-o", f"{options} -c fsync=off", "-l", root / "log", "start"])
        try:
            yield Postgres("127.0.0.1", port)
        finally:
            _run([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _run(command: list[str | Path]) -> None:
    # What PostgreSQL's server inherits, it keeps: a pipe would never end.
    with tempfile.TemporaryFile() as out:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/", check=False
        )
        out.seek(0)
        assert done.returncode == 0, out.read().decode(errors="replace")
