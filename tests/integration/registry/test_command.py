"""``penstock registry`` as a process of its own: ``cli.registry``."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

import pytest

pytestmark = pytest.mark.kafka

_START = "from penstock.cli.main import main; main()"


@contextmanager
def running(*arguments: str) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-c", _START, "registry", "--json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()


def test_registry_keeps_its_schemas_when_it_is_stopped(kafka_broker: str) -> None:
    options = ("--bootstrap", kafka_broker, "--port", "0", "--topic", "registry-command")
    with running(*options) as first:
        assert first["subjects"] == 0
        body = json.dumps({"schema": '"int"'}).encode()
        request = Request(first["url"] + "/subjects/a/versions", body, method="POST")
        with urlopen(request, timeout=10) as response:
            assert json.load(response) == {"id": 1}
    with running(*options) as second:
        assert second["subjects"] == 1
        with urlopen(second["url"] + "/schemas/ids/1", timeout=10) as response:
            assert json.load(response) == {"schema": '"int"'}
