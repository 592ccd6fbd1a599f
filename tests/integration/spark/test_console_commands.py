"""``penstock run --console`` and ``penstock demo --keep``, in a real browser."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from tests.console.browser import Open, browser, open_page
from tests.integration.spark.instances import wait_for
from tests.integration.spark.test_commands import command, mark

__all__ = ["browser", "mark", "open_page"]

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

PROGRAM = """
import penstock as ps
config = {{"application.id": "{name}", "state.dir": "{folder}", "commit.interval.ms": 100}}
builder = ps.StreamsBuilder()
builder.stream("{source}").group_by(lambda _, line: line, name="by-line").count("lines")
"""


class Running:
    """A command that runs; what it prints is read as it comes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.printed = ""
        self._changed = threading.Condition()
        for stream in (process.stdout, process.stderr):
            threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            with self._changed:
                self.printed += line
                self._changed.notify_all()

    def link(self) -> str:
        """Return the address of the console, once it is printed."""
        pattern = re.compile(r"console: (http\S+)")
        with self._changed:
            found = self._changed.wait_for(lambda: pattern.search(self.printed), timeout=240)
        assert found is not None, self.printed
        return str(found[1])


@contextmanager
def running(mark: str, *arguments: str) -> Iterator[Running]:
    """Run a command, and end it as Ctrl-C would."""
    process = subprocess.Popen(
        **command(mark, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        shown = Running(process)
        yield shown
        process.send_signal(signal.SIGINT)
        process.wait(120)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)
    assert process.returncode in (0, 130), shown.printed


def test_a_run_prints_the_link_of_its_console(
    mark: str, kafka_broker: str, new_topic: Any, produce: Any, tmp_path: Path, open_page: Open
) -> None:
    """The link has a token that may do everything; the counts are those of the input."""
    source = new_topic("lines", partitions=2)
    produce(source, *((f"k{number}", f"line {number % 3}") for number in range(30)))
    program = tmp_path / "app.py"
    state = tmp_path / "state"
    program.write_text(PROGRAM.format(name=f"run-{source}", folder=state, source=source))
    with running(mark, "run", str(program), "--console", "--bootstrap", kafka_broker) as run:
        link = run.link()
        assert "#token=" in link
        shown = _patiently(open_page, link)
        shown.wait_for_selector(".headline dd:text-is('30')")
        shown.goto(f"{link.partition('#')[0]}#/stores/lines")
        shown.wait_for_selector("tr:has(th code:text-is('line 1')) td code:text-is('10')")


def test_a_demo_that_is_kept_shows_its_console(mark: str, open_page: Open) -> None:
    """It goes on after the result, and the console shows the words."""
    with running(mark, "demo", "--keep", "--seconds", "1") as demo:
        link = demo.link()
        shown = _patiently(open_page, link)
        shown.wait_for_selector(".headline h2:has-text('All is well')")
        shown.goto(f"{link.partition('#')[0]}#/stores/word-counts?key=water")
        count = shown.wait_for_selector(".key-panel pre")
        # The text has 215 of them; more come when it is written again.
        shown.wait_for_function("e => Number(e.textContent) > 215", arg=count)


def _patiently(open_page: Open, link: str) -> Any:
    """Open a page whose link is printed before it is served."""
    wait_for(lambda: _is_served(link), 240, "the console is served")
    return open_page(link)


def _is_served(link: str) -> bool:
    try:
        return httpx.get(link.partition("#")[0], timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
