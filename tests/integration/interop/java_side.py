"""The Java program of these tests, kept running: one JVM answers every question."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from penstock.kafka.java import Java
from tests.integration.interop.jars import streams_class_path

_PROGRAM = Path(__file__).with_name("ReadBack.java")


class JavaSide:
    """Asks ``ReadBack.java``, a line of JSON for a line of JSON. Its log goes to a file."""

    def __init__(self, java: Java, bootstrap: str, folder: Path) -> None:
        self._log = (folder / "java.log").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [
                str(java.executable), "-Xmx512m", "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp", streams_class_path(java), str(_PROGRAM), bootstrap,
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            encoding="utf-8",
        )  # fmt: skip

    def ask(self, what: str, **details: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **details}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the Java program ended"}
        if isinstance(answer, dict) and "error" in answer:
            self._log.seek(0)
            raise AssertionError(f"{answer['error']}\n{self._log.read()[-4000:]}")
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()
