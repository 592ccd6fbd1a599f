"""A small process beside a stream thread: it tells the driver that the thread's process runs.

A function of the user may keep Python's global lock for minutes, and then no thread of that process
can say that it is alive. This program has a lock of its own. It uses only the standard library and
is started without site packages, so that it costs little.

Its line to the driver carries plain bytes: ``pulse`` and the thread's name first, then every second
one letter, the state of the process as the system has it (``T`` is stopped).
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

_BEAT_S = 1.0
_CONNECT_S = 10.0


def main() -> None:
    """Read where the driver is from standard input, and send beats until either side is gone."""
    given = json.loads(sys.stdin.read())
    parent, secret = os.getppid(), bytes.fromhex(given["secret"])
    opened = socket.create_connection((given["host"], given["port"]), timeout=_CONNECT_S)
    opened.settimeout(None)
    with Connection(opened.detach()) as line:
        deliver_challenge(line, secret)
        answer_challenge(line, secret)
        line.send_bytes(b"pulse " + given["server"].encode())
        while os.getppid() == parent:
            line.send_bytes(state_of(parent).encode())
            time.sleep(_BEAT_S)


def state_of(pid: int) -> str:
    """Return one letter: ``R`` runs, ``S`` sleeps, ``T`` is stopped; ``?`` if it is not known."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The name in the second field may itself contain spaces and brackets.
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "?"


if __name__ == "__main__":
    try:
        main()
    except (OSError, EOFError):
        # The driver, or the stream thread, has ended.
        sys.exit(0)
