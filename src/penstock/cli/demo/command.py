"""``penstock demo``: a word count on Spark with a private broker, from start to result."""

from __future__ import annotations

import importlib
import re
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import penstock
from penstock.cli.console_link import ConsoleLink, is_served
from penstock.cli.demo.view import DemoView, print_words
from penstock.cli.live_view import LineView, View
from penstock.cli.output import JsonOption, out, print_done, print_json, print_next, print_note
from penstock.cli.quiet import JavaLog, configure_logging, java_log
from penstock.cli.snapshot import Snapshot, Watch
from penstock.cli.supervise import Work, run_watched
from penstock.cli.top_rows import TopRows
from penstock.config import StreamsConfig
from penstock.dsl.faces.builder import StreamsBuilder
from penstock.errors import StreamsError
from penstock.extras import require
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.clients import new_producer
from penstock.kafka.distribution import download_note, installed
from penstock.kafka.embedded import EmbeddedBroker
from penstock.kafka.java import find_java
from penstock.topology.topology import Topology

TEXT = Path(__file__).with_name("demo_text.txt")

_STORE = "word-counts"
_PARTITIONS = 2
_ROWS = 10
#: The pause before the text comes again.
_AGAIN_S = 0.5
_WORD = r"[a-z']{4,}"


def demo(
    seconds: Annotated[
        float, typer.Option("--seconds", min=0, help="How long to take for writing the text.")
    ] = 6.0,
    keep: Annotated[
        bool, typer.Option("--keep", help="Go on until Ctrl-C, with the text again and again.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the log to standard error.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Count the words of a text, live: a broker, Spark and an application, all on this machine.

    As long as it runs, its console is at the address that is printed.
    """
    require("penstock demo", "spark")
    configure_logging(is_verbose=verbose)
    begun = time.monotonic()
    lines = TEXT.read_text(encoding="utf-8").splitlines()
    if not as_json:
        out().print("[bold]Penstock[/bold]  word count with Kafka and Spark on this machine\n")
    with ExitStack() as stack:
        log = stack.enter_context(java_log())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-demo-"))
        if installed() is None and not as_json:
            print_note(f"{download_note()}; the next start takes seconds")
        news: deque[str] = deque(maxlen=1)
        broker = stack.enter_context(_Stopped(EmbeddedBroker(progress=news.append)))
        config: dict[str, Any] = {
            "application.id": "penstock-demo",
            "state.dir": folder,
            "num.stream.threads": _PARTITIONS,
            "processing.guarantee": "exactly_once_v2",
            "commit.interval.ms": 200,
            "spark.ui.enabled": "false",
        }
        # A checkout may have been set up before the server's packages belonged to the demo.
        if is_served():
            link = ConsoleLink.of(config)
            config |= link.settings
            print_note(f"console: {link.url}")
        _bring_up(broker, config, log, Console(quiet=True) if as_json else out(), news)
        config["bootstrap.servers"] = broker.bootstrap_servers
        counts, last = _count(lines, seconds, config, log, is_shown=not as_json, is_kept=keep)
    took = time.monotonic() - begun
    _check(counts, lines)
    if as_json:
        print_json({"seconds": round(took, 1), "lines": len(lines), "counts": dict(counts)})
    else:
        _print_result(counts, last, took)


def build() -> Topology:
    """Return the topology of the word count, written as a user would write it."""
    pattern = _WORD

    # Functions that are defined here are pickled by value. So Spark's workers need not import
    # the command line.
    def words(line: str) -> list[str]:
        return re.findall(pattern, line.lower())

    builder = StreamsBuilder()
    (
        builder.stream("text-input")
        .flat_map_values(words)
        .group_by(lambda _, word: word)
        .count(_STORE)
        .to_stream()
        .to("word-counts")
    )
    return builder.build()


class _Stopped:
    """Stop a broker at the end of a ``with`` block, also if another thread has started it."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker

    def __enter__(self) -> EmbeddedBroker:
        return self._broker

    def __exit__(self, *exc: object) -> None:
        self._broker.stop()


def _bring_up(
    broker: EmbeddedBroker,
    config: Mapping[str, Any],
    log: JavaLog,
    console: Console,
    news: Iterable[str],
) -> None:
    """Start the broker and Spark at the same time, since each Java process takes a while.

    Args:
        news: messages about the first download of Kafka, if there is one.
    """
    begun = time.monotonic()

    def start_broker() -> None:
        broker.start()
        topics = (TopicSpec(name, _PARTITIONS) for name in ("text-input", "word-counts"))
        Admin({"bootstrap.servers": broker.bootstrap_servers}).create_topics(topics)

    def start_spark() -> None:
        # pyspark is imported only by the commands that use it, and only when they run.
        session = importlib.import_module("penstock.runtime.spark.driver.session")
        archive = importlib.import_module("penstock.runtime.spark.driver.class_archive")
        archive.expect_more_starts(find_java())
        with log.taking_stderr():
            session.spark_session(StreamsConfig(config))

    waiting = {
        "Kafka": Work(start_broker, "penstock-kafka"),
        "Spark": Work(start_spark, "penstock-spark"),
    }
    with console.status("") as status:
        while waiting:
            status.update(status_line(waiting, news))
            for name in [name for name, work in waiting.items() if work.is_done]:
                waiting.pop(name).wait()
                console.print(f"[green]✓[/green] {name} after {time.monotonic() - begun:.1f} s")
            time.sleep(0.05)


def status_line(waiting: Iterable[str], news: Iterable[str]) -> str:
    """Return a line that says what is being started, with news of Kafka's download."""
    about = {"Kafka": "".join(f" ({text})" for text in news)}
    return "starting " + " and ".join(name + about.get(name, "") for name in waiting)


def _count(
    lines: list[str],
    seconds: float,
    config: Mapping[str, Any],
    log: JavaLog,
    *,
    is_shown: bool,
    is_kept: bool,
) -> tuple[Counter[str], Snapshot]:
    """Write the text while the application runs; return the counts once all is counted.

    If it is kept, the text is written again and again after that, until a signal arrives.
    """
    streams = penstock.KafkaStreams(build(), config)
    counts: Counter[str] = Counter()
    with Feeder(lines, seconds, config["bootstrap.servers"], lambda: streams.state.value) as feeder:

        def is_done(snapshot: Snapshot) -> bool:
            known = snapshot.metrics
            if counts or known is None or feeder.written < len(lines):
                return False
            if known.records < len(lines):
                return False
            counts.update(dict(streams.store(_STORE).all()))
            if is_kept:
                feeder.go_on()
            return not is_kept

        rows = TopRows(lambda: streams.store(_STORE), _STORE, _ROWS)
        watch = Watch(streams, rows=rows, interval_s=0.3)
        with _view(feeder, is_shown=is_shown) as view:
            run_watched(streams, watch, view, log, until=is_done)
    return counts, watch.latest


class Feeder:
    """Write the text while the application runs, evenly over some seconds.

    After the last line it waits until it may go on, and then writes the text again and again.
    """

    def __init__(
        self, lines: list[str], seconds: float, servers: str, state: Callable[[], str]
    ) -> None:
        self.lines = len(lines)
        self.written = 0
        self._text = lines
        self._pause_s = seconds / max(len(lines), 1)
        self._state = state
        self._ended, self._may_go_on = threading.Event(), threading.Event()
        self._producer = new_producer(
            {"bootstrap.servers": servers, "partitioner": "murmur2_random", "linger.ms": 20}
        )
        self._thread = threading.Thread(target=self._write, name="penstock-feed", daemon=True)

    def __enter__(self) -> Feeder:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._may_go_on.set()
        self._thread.join(5)

    def go_on(self) -> None:
        """Write the text again and again, now that its first time was counted."""
        self._may_go_on.set()

    def _write(self) -> None:
        while self._state() != "RUNNING":
            if self._ended.wait(0.05):
                return
        while self._write_once():
            self._producer.flush(30)
            self._may_go_on.wait()
            if self._ended.wait(_AGAIN_S):
                return

    def _write_once(self) -> bool:
        """Write the text, or up to the end of the application; return whether it is whole."""
        for number, line in enumerate(self._text, 1):
            # Without a key, Kafka's producer would write long runs to one partition at a time.
            self._producer.produce("text-input", line, partition=number % _PARTITIONS)
            self._producer.poll(0)
            self.written = max(self.written, number)
            if self._ended.wait(self._pause_s):
                return False
        return True


def _view(feeder: Feeder, *, is_shown: bool) -> View:
    if not is_shown:
        return _NoView()
    return DemoView(feeder) if sys.stdout.isatty() else LineView("demo", as_json=False)


class _NoView:
    """Show nothing, for users who want only the result."""

    def __enter__(self) -> _NoView:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        pass


def _check(counts: Counter[str], lines: list[str]) -> None:
    """Raise an error if the counts are not those of plain Python: exactly-once means equal."""
    expected = Counter(word for line in lines for word in re.findall(_WORD, line.lower()))
    if counts != expected:
        wrong = [word for word in expected | counts if expected[word] != counts[word]]
        raise StreamsError(
            "wrong-counts",
            f"{len(wrong)} words have other counts than plain Python finds, such as {wrong[0]!r}:"
            f" {counts[wrong[0]]} instead of {expected[wrong[0]]}",
            fix="please report this, with the output of: penstock doctor",
        )


def _print_result(counts: Counter[str], last: Snapshot, took: float) -> None:
    if not sys.stdout.isatty():
        print_words(counts, _ROWS)
    batches = 0 if last.metrics is None else last.metrics.batches
    print_done(
        f"{counts.total():,} words counted in {batches} batches, exactly once:"
        " plain Python counts the same"
    )
    print_done(f"application, Spark and Kafka stopped, {took:.0f} s in all")
    print_next(
        [
            ("penstock init shop && cd shop", "a program of your own, with tests"),
            ("penstock run app.py --reload", "live, and again whenever a file is saved"),
            ("penstock broker start", "a broker that stays"),
        ]
    )
