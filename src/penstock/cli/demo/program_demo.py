"""``penstock run --demo``: feed the sample data beside a program to it, show what it writes."""

from __future__ import annotations

import io
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from penstock.cli.output import out, print_json
from penstock.cli.program import LoadedProgram
from penstock.cli.snapshot import Snapshot
from penstock.cli.text_format import TextFormat, as_printable, as_text
from penstock.config import APPLICATION_ID, BOOTSTRAP_SERVERS, StreamsConfig
from penstock.errors import InvalidArgumentError, PenstockError, StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.clients import new_producer
from penstock.kafka.topic_reader import read_to_end
from penstock.runtime.local.outbox import InputRecord
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.driver.topics import external_topics
from penstock.testing.sample_data import SAMPLE_FILES, read_samples, sample_file
from penstock.testing.topic_serdes import TopicSerdes
from penstock.topology.nodes import Source

#: How long the application must be idle. Its output may be input of another part of it.
_IDLE_S = 1.5
_PARTITIONS = 2


def with_samples(program: LoadedProgram) -> LoadedProgram:
    """Return the program with a ``prepare`` that also writes the sample data beside it.

    Raises:
        InvalidArgumentError: ``no-sample-data`` if there is none.
    """
    file = sample_file(program.path)
    if file is None and program.prepare is None and program.samples is None:
        raise InvalidArgumentError(
            "no-sample-data",
            f"there is no sample data beside {str(program.path)!r}",
            fix=f"write {' or '.join(SAMPLE_FILES)} there, or run the program without --demo",
        )
    samples = [] if file is None else read_samples(file, program.topology)

    def prepare(servers: str) -> None:
        if program.prepare is not None:
            program.prepare(servers)
        write_samples(servers, samples, external_topics(program.topology.graph))

    return replace(program, prepare=prepare)


def write_samples(servers: str, samples: Sequence[InputRecord], topics: Sequence[str]) -> None:
    """Create the topics that are missing, with two partitions each, and write the samples."""
    admin = Admin({"bootstrap.servers": servers})
    there = admin.topics()
    names = dict.fromkeys((*(sample.topic for sample in samples), *topics))
    admin.create_topics(TopicSpec(name, _PARTITIONS) for name in names if name not in there)
    # Keys go to the partitions that Java's producers would choose.
    settings = {"bootstrap.servers": servers, "partitioner": "murmur2_random"}
    producer = new_producer(settings)
    for sample in samples:
        producer.produce(sample.topic, sample.value, sample.key, timestamp=sample.timestamp)
    producer.flush()


class ProgramDemo:
    """Wait until a program has processed its sample data, and keep what it has to show.

    Everything is collected while the application and its broker run, and printed afterwards, so
    that it does not run into the live view.
    """

    def __init__(self, program: LoadedProgram, streams: Any, config: StreamsConfig) -> None:
        self._program = program
        self._streams = streams
        self._config = config
        self._idle_since: float | None = None
        self.shown = ""
        self.error: StreamsError | None = None
        self.outputs: list[tuple[str, Any, Any]] = []

    def is_over(self, snapshot: Snapshot) -> bool:
        """Return whether the application has been idle for long enough; collect its output then."""
        if not snapshot.is_idle:
            self._idle_since = None
            return False
        now = time.monotonic()
        self._idle_since = self._idle_since or now
        if now - self._idle_since < _IDLE_S:
            return False
        self.shown = self._show()
        self.outputs = list(self._outputs())
        return True

    def print(self, *, as_json: bool) -> None:
        """Print the records of each output topic, then what the program's ``show`` printed.

        Raises:
            StreamsError: ``show-failed``, with what ``show`` raised.
        """
        for topic in dict.fromkeys(topic for topic, _, _ in self.outputs):
            if not as_json:
                out().print(Text(f"\n{topic}", style="bold"))
            for name, key, value in self.outputs:
                if name == topic and as_json:
                    print_json({"topic": topic, "key": key, "value": value}, indent=False)
                elif name == topic:
                    print(f"  {as_text(key)}\t{as_text(value)}")
        if self.shown and not as_json:
            print(f"\n{self.shown}", end="")
        if self.error is not None:
            raise self.error

    def _show(self) -> str:
        """Call the program's ``show``, and return what it printed.

        ``print`` is replaced in the program only. The live view draws on standard output meanwhile,
        from a thread of its own.
        """
        show = self._program.show
        if show is None:
            return ""
        printed = io.StringIO()
        scope = getattr(show, "__globals__", {})
        scope["print"] = partial(print, file=printed)
        try:
            show(self._streams)
        except Exception as error:  # noqa: BLE001
            # The application is still running. It is closed first, and then the error is raised.
            self.error = _failed(self._program, error)
        finally:
            del scope["print"]
        return printed.getvalue()

    def _outputs(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield the records of the output topics: those that the sample data do not fill."""
        graph = self._program.topology.graph
        serdes = TopicSerdes(graph, task_settings(self._config))
        settings = {"bootstrap.servers": self._config[BOOTSTRAP_SERVERS]}
        admin = Admin(settings)
        own = f"{self._config[APPLICATION_ID]}-"
        for topic in self._output_topics(admin, own):
            key, value = serdes.of_output(topic, strict=False)
            places = [(topic, state.id) for state in admin.topic(topic).partitions]
            first, end = admin.begin_offsets(places), admin.end_offsets(places)
            spans = {place: (first[place], end[place]) for place in places}
            messages = sorted(read_to_end(settings, spans), key=lambda each: each.timestamp()[1])
            for message in messages:
                yield (
                    topic,
                    _plain(TextFormat("key", key), topic, message.key()),
                    _plain(TextFormat("value", value), topic, message.value()),
                )

    def _output_topics(self, admin: Admin, own: str) -> list[str]:
        file = sample_file(self._program.path)
        samples = [] if file is None else read_samples(file, self._program.topology)
        inputs = {sample.topic for sample in samples}
        if self._program.samples is not None:
            nodes = self._program.topology.graph.nodes.values()
            inputs |= {topic for node in nodes if isinstance(node, Source) for topic in node.topics}
        named = external_topics(self._program.topology.graph)
        others = sorted(name for name in admin.topics() if not name.startswith(("__", own)))
        return [name for name in dict.fromkeys((*named, *others)) if name not in inputs]


def _failed(program: LoadedProgram, error: Exception) -> StreamsError:
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename) == program.path
    ]
    return StreamsError(
        "show-failed",
        f"show of {str(program.path)!r} raised {error!r}",
        fix="correct the line; the application itself has processed its sample data",
        at=f"{program.path}:{lines[-1]}" if lines else str(program.path),
    )


def _plain(form: TextFormat, topic: str, data: Any) -> Any:
    try:
        return form.to_plain(topic, data)
    except (PenstockError, TypeError, ValueError):
        return as_printable(data)
