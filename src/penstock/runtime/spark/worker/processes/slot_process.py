"""Start a slot server in a new interpreter, where forking is not safe (see ``spawn``)."""

from __future__ import annotations

import json
import os
import sys

from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.processes.process_tree import Executor, Process
from penstock.runtime.spark.worker.slot_server import serve_forever

_STDOUT = 1


def main() -> None:
    """Read the secret and the executor from standard input, and serve."""
    secret, (process, name, host), path = json.loads(sys.stdin.read())
    sys.path[:] = path
    executor = Executor(Process(*process) if process else None, name, host)
    serve_forever(bytes.fromhex(secret), executor, _tell)


def _tell(endpoint: Endpoint) -> None:
    # Printed lines go to the driver. The process that started this one reads its real output.
    os.write(_STDOUT, json.dumps([os.getpid(), *endpoint]).encode() + b"\n")


if __name__ == "__main__":
    main()
