"""SQL servers of a test: in this process, or as processes that can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

_ROOT = Path(__file__).resolve().parents[3]
_START_S = 180.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Rest:
    """Asks one server."""

    def __init__(self, url: str) -> None:
        # A connection is closed after its answer, so that nobody has to close the client.
        alone = httpx.Limits(max_keepalive_connections=0)
        self.client = httpx.Client(base_url=url, timeout=120.0, limits=alone)

    def ksql(self, sql: str, **more: Any) -> list[dict[str, Any]]:
        answer = self.client.post("/ksql", json={"ksql": sql, **more})
        assert answer.status_code == 200, answer.text
        return list(answer.json())

    def refused(self, sql: str) -> dict[str, Any]:
        answer = self.client.post("/ksql", json={"ksql": sql})
        assert answer.status_code != 200, answer.text
        return dict(answer.json())

    def status(self, query_id: str) -> str:
        (listed,) = self.ksql("SHOW QUERIES;")
        return {each["id"]: each["state"] for each in listed["queries"]}[query_id]

    def server_status(self) -> str:
        return str(self.client.get("/info").json()["KsqlServerInfo"]["serverStatus"])


class ServerProcess:
    """``penstock server`` as a process of its own."""

    def __init__(self, settings: Mapping[str, Any], folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._settings = {**settings, "state.dir": str(folder / "state")}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Rest:
        given = [part for n, value in self._settings.items() for part in ("-c", f"{n}={value}")]
        program = "from penstock.cli.main import main; main()"
        environment = {**os.environ, "PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", program, "server", "--verbose",
                 "--listen", f"127.0.0.1:{self.port}", *given],
                stdout=log, stderr=log, cwd=self._folder, env=environment, start_new_session=True,
            )  # fmt: skip
        rest = Rest(f"http://127.0.0.1:{self.port}")
        deadline = time.monotonic() + _START_S
        while True:
            try:
                rest.client.get("/info").raise_for_status()
                return rest
            except httpx.HTTPError:
                assert self._process.poll() is None, self.log()
                assert time.monotonic() < deadline, self.log()
                time.sleep(0.2)

    def log(self) -> str:
        return (self._folder / "log").read_text(errors="replace")[-5000:]

    def kill(self) -> None:
        """Kill it and all that it has started, at once."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(30.0)

    def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(90.0)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
