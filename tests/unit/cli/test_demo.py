"""The parts of ``penstock demo``; the whole is in ``tests/integration/spark``."""

import re
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from penstock.cli.demo import command
from penstock.cli.demo.command import TEXT, Feeder, _check, build, status_line
from penstock.cli.demo.view import demo_picture
from penstock.cli.snapshot import Snapshot
from penstock.errors import StreamsError
from penstock.runtime.states import State
from penstock.testing import TopologyTestDriver
from tests.unit.serving.memory_application import until

LINES = TEXT.read_text(encoding="utf-8").splitlines()


def plain_count() -> Counter[str]:
    return Counter(word for line in LINES for word in re.findall(r"[a-z']{4,}", line.lower()))


def test_text_is_long_enough_to_watch() -> None:
    """And no line of it comes twice."""
    assert len(LINES) >= 300
    assert len(set(LINES)) == len(LINES)


def test_topology_counts_what_plain_python_counts() -> None:
    """The same check that the demo ends with."""
    with TopologyTestDriver(build()) as driver:
        driver.pipe("text-input", *LINES)
        counts: Any = Counter(driver.read_map("word-counts"))
    assert counts == plain_count()
    _check(counts, LINES)


def test_wrong_count_fails_the_demo() -> None:
    """A demo that only looks right would be worse than none."""
    counts = plain_count()
    counts["water"] += 1
    with pytest.raises(StreamsError, match="'water': 216 instead of 215"):
        _check(counts, LINES)


def test_picture_shows_progress_and_words() -> None:
    """What is written, what is counted of it, and the words that lead."""
    metrics: Any = SimpleNamespace(
        records=200, batches=3, last_batch_seconds=0.2, lag={("text-input", 0): 4}
    )
    snapshot = Snapshot(2.0, State.RUNNING, metrics, 80.0, ("word-counts", (("water", 107),)))
    console = Console(width=100)
    with console.capture() as capture:
        console.print(demo_picture(SimpleNamespace(lines=401, written=300), snapshot))
    text = capture.get()
    for part in ("300 of 401 lines", "200 of 401 lines", "RUNNING", "80 lines/s", "water", "107"):
        assert part in text


def test_status_line_tells_of_the_download_while_it_lasts() -> None:
    """The news are about Kafka; once it has started, they are old."""
    news = ["downloading: 37 of 45 MB"]
    assert status_line(["Kafka", "Spark"], []) == "starting Kafka and Spark"
    line = "starting Kafka (downloading: 37 of 45 MB) and Spark"
    assert status_line(["Kafka", "Spark"], news) == line
    assert status_line(["Spark"], news) == "starting Spark"


class Producer:
    """Keeps what is written."""

    def __init__(self, settings: Any) -> None:
        self.lines: list[str] = []

    def produce(self, topic: str, line: str, partition: int) -> None:
        self.lines.append(line)

    def poll(self, timeout: float) -> int:
        return 0

    def flush(self, timeout: float) -> int:
        return 0


def test_the_text_comes_again_only_when_its_first_time_was_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With --keep; a count in the middle of the second time would be wrong."""
    monkeypatch.setattr(command, "new_producer", Producer)
    monkeypatch.setattr(command, "_AGAIN_S", 0.0)
    with Feeder(["a", "b"], 0.0, "nowhere:1", lambda: "RUNNING") as feeder:
        written: Any = feeder._producer
        until(lambda: feeder.written == 2)
        assert written.lines == ["a", "b"]
        feeder.go_on()
        until(lambda: len(written.lines) > 4)
        assert feeder.written == 2
    count = len(written.lines)
    assert written.lines[:4] == ["a", "b", "a", "b"]
    assert not feeder._thread.is_alive()
    assert len(written.lines) == count


def test_a_feeder_that_may_not_go_on_ends_with_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --keep the demo ends by itself."""
    monkeypatch.setattr(command, "new_producer", Producer)
    with Feeder(["a"], 0.0, "nowhere:1", lambda: "RUNNING") as feeder:
        until(lambda: feeder.written == 1)
    assert not feeder._thread.is_alive()
