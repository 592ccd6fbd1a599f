"""What a user sees of a program that runs on Spark: its prints, its logs, and its failure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ROOT = Path(__file__).parents[3]
#: Hints are text here, and only this module knows what "datetime" means.
PROGRAM = """
from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from datetime import datetime

from penstock import KafkaStreams, StreamsBuilder

logging.basicConfig(format="LOG %(levelname)s %(name)s %(message)s")
log = logging.getLogger("shop")
config = {{"application.id": "{id}", "bootstrap.servers": "{servers}", "state.dir": "{state}",
          "spark.ui.enabled": "false", "commit.interval.ms": 50}}


@dataclass
class Click:
    page: str
    at: datetime


def logged(click: Click) -> Click:
    log.warning("seen %s in %d", click.page, click.at.year)
    log.info("nobody asked for this")
    return click


def price(page: str) -> float:
    return {{"/home": 1.0}}[page]


builder = StreamsBuilder()
stream = builder.stream("{source}", key=str, value=Click).map_values(logged)
stream.peek(lambda key, click: print("PRINTED", key, click.page))
stream.map_values(lambda click: price(click.page)).to("{sink}", value=float)
topology = builder.build()

if __name__ == "__main__":
    with KafkaStreams(topology, config) as streams:
        if "--once" in sys.argv:
            streams.run_until_idle()
        else:
            streams.run()
"""


@pytest.fixture
def app(
    tmp_path: Path, kafka_broker: str, new_topic: Callable[..., str], application_id: str
) -> tuple[Path, str]:
    """The program in a file, and its source topic."""
    source, sink = new_topic("clicks"), new_topic("prices")
    file = tmp_path / "shop.py"
    file.write_text(
        PROGRAM.format(
            id=application_id, servers=kafka_broker, state=tmp_path / "state", source=source,
            sink=sink,
        )
    )  # fmt: skip
    return file, source


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}"},
    )  # fmt: skip


def click(page: str) -> str:
    return json.dumps({"page": page, "at": "2026-01-02T03:04:05+00:00"})


def test_program_shows_what_its_functions_print_and_log(
    app: tuple[Path, str], produce: Callable[..., None]
) -> None:
    """A plain ``python app.py``; its dataclass has hints that are text."""
    file, source = app
    produce(source, ("ann", click("/home")))
    done = run(sys.executable, file, "--once")
    assert done.returncode == 0, done.stderr
    assert "PRINTED ann /home" in done.stdout.splitlines()
    assert "LOG WARNING shop seen /home in 2026" in done.stderr.splitlines()
    assert "nobody asked for this" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("form", ["lines", "json"])
def test_command_shows_what_functions_print_and_log(
    app: tuple[Path, str], produce: Callable[..., None], form: str
) -> None:
    """With JSON on standard output, prints go to standard error."""
    file, source = app
    produce(source, ("ann", click("/home")))
    options = ["--json"] if form == "json" else []
    done = run(Path(sys.executable).with_name("penstock"), "run", file, "--for-idle", *options)
    assert done.returncode == 0, done.stderr
    printed = done.stderr if form == "json" else done.stdout
    assert "PRINTED ann /home" in printed.splitlines()
    assert "LOG WARNING shop seen /home in 2026" in done.stderr.splitlines()
    if form == "json":
        assert all(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.slow
def test_failing_function_is_told_in_a_few_lines(
    app: tuple[Path, str], produce: Callable[..., None]
) -> None:
    """The line that raised, the key and the value, and no tracebacks of Spark."""
    file, source = app
    produce(source, ("ann", click("/buy")))
    done = run(sys.executable, file)
    assert done.returncode == 1
    told = done.stderr
    line = 1 + file.read_text().splitlines().index("""    return {"/home": 1.0}[page]""")
    assert "[user-function]" in told
    assert f"at:  shop.py:{line}" in told
    assert "key:   'ann'" in told
    assert "value: Click(page='/buy'" in told
    assert len(told.splitlines()) < 40, told


@pytest.mark.slow
def test_ctrl_c_closes_a_program(app: tuple[Path, str], produce: Callable[..., None]) -> None:
    """PySpark's own handler of the signal comes later than ours and would interrupt a batch."""
    file, source = app
    produce(source, ("ann", click("/home")))
    process: Any = subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert any("PRINTED" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
