"""``penstock run --reload`` with a real broker and Spark: edits, and what becomes of the state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock import Serdes
from penstock.cli.init.templates import TEMPLATES

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
PROGRAM = """
from penstock import StreamsBuilder
config = {{"application.id": "{id}", "state.dir": "{state}", "spark.ui.enabled": "false",
          "commit.interval.ms": 50, "statestore.cache.max.bytes": 0}}
builder = StreamsBuilder()
(builder.stream("{source}").map_values(lambda word: word{edit})
    .group_by(lambda _, word: word).count("counts").to_stream().to("{sink}"))
"""


class Session:
    """A running ``penstock run --reload``, with all that it has said."""

    def __init__(self, file: Path, servers: str | None) -> None:
        tool = Path(sys.executable).with_name("penstock")
        broker = [] if servers is None else ["--bootstrap", servers]
        self.process = subprocess.Popen(
            [str(tool), "run", str(file), "--reload", *broker], cwd=file.parent,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
        )  # fmt: skip
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            self.lines.extend(iter(output.readline, ""))

    def wait_for(self, text: str, times: int = 1, within_s: float = 120) -> None:
        deadline = time.monotonic() + within_s
        while sum(text in line for line in self.lines) < times:
            assert time.monotonic() < deadline, "".join(self.lines)
            assert self.process.poll() is None, "".join(self.lines)
            time.sleep(0.1)

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(120) == 0, "".join(self.lines)

    def sweep(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(30)


@pytest.fixture
def session(
    tmp_path: Path, kafka_broker: str, new_topic: Callable[..., str], application_id: str
) -> Iterator[tuple[Callable[[str], None], Callable[[], Session], str, str]]:
    source, sink = new_topic("words"), new_topic("counts")
    file = tmp_path / "program" / "app.py"
    file.parent.mkdir()
    started: list[Session] = []

    def write(edit: str) -> None:
        file.write_text(
            PROGRAM.format(
                id=application_id, state=tmp_path / "state", source=source, sink=sink, edit=edit
            )
        )

    def start() -> Session:
        started.append(Session(file, kafka_broker))
        return started[-1]

    yield write, start, source, sink
    for each in started:
        each.sweep()


def test_edits_run_at_once_and_counts_go_on(
    session: tuple[Callable[[str], None], Callable[[], Session], str, str],
    produce: Callable[..., None],
    committed: Callable[[str], list[tuple[bytes, bytes]]],
) -> None:
    """A mistake in between costs nothing, and Spark is started once."""
    write, start, source, sink = session
    write("")
    running = start()
    running.wait_for("RUNNING")
    produce(source, (None, "a"))
    wait_until(lambda: len(committed(sink)) == 1)
    write(".upper(")
    running.wait_for("[program-failed]")
    running.wait_for("waiting for a change")
    write(".lower()")
    running.wait_for("loading it again", times=2)
    running.wait_for("RUNNING", times=2)
    produce(source, (None, "A"))
    wait_until(lambda: len(committed(sink)) == 2)
    counts = [(key, Serdes.long().decode(value)) for key, value in committed(sink)]
    assert counts == [(b"a", 1), (b"a", 2)]
    running.end()


def test_samples_flow_on_a_private_broker_and_an_edit_shows_its_difference(tmp_path: Path) -> None:
    """Both runs have seen the same orders: without small ones, each country has fewer."""
    file = tmp_path / "app.py"
    text = TEMPLATES["streams"].files("shop")["app.py"]
    file.write_text(text)
    session = Session(file, None)
    try:
        # 60 were written before the start.
        session.wait_for("RUNNING           1")
        file.write_text(text.replace("amount > 0", "amount > 50"))
        session.wait_for("0 keys are the same")
        seen = "".join(session.lines)
        before, after = (
            [int(line.split()[-1]) for line in session.lines if line.startswith(f"    {sign} ")]
            for sign in "-+"
        )
        assert sum(before) >= 100, seen
        assert 0 < sum(after) < sum(before), seen
        session.end()
    finally:
        session.sweep()


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.2)
