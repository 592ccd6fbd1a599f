"""Write sample records to a private broker for as long as a program runs there.

A program has a generator ``samples()``; a SQL script has schemas in a file beside it
(``cli/sql/samples.py``). A broker that the user has named is never written to.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.cli.output import print_error
from penstock.cli.program import LoadedProgram
from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.errors import InvalidArgumentError, PenstockError, StreamsError
from penstock.kafka.clients import new_producer
from penstock.model.site import raising_site
from penstock.runtime.settings import task_settings
from penstock.testing.topic_serdes import TopicSerdes

#: These are written before the start, so that there is something to see at once.
FIRST = 60
#: Few enough to follow on the screen.
PER_SECOND = 10
_FLUSH_S = 10.0
_FIX = 'yield ("topic", key, value), or (…, timestamp) with milliseconds since 1970'


@dataclass(frozen=True, slots=True)
class Sample:
    """One record as bytes; without a time it gets the time at which it is written."""

    topic: str
    key: bytes | None
    value: bytes | None
    time_ms: int | None = None


class Producing(Protocol):
    """The part of a producer that a feed needs."""

    def produce(
        self, topic: str, value: bytes | None, key: bytes | None, *, timestamp: int
    ) -> None: ...
    def poll(self, timeout: float, /) -> int: ...
    def flush(self, timeout: float, /) -> int: ...


class SampleFeed:
    """Writes samples, first some at once and then a few per second, until it is closed.

    A pause is exact: no record is written between ``pause`` and ``resume``, so that two runs of a
    program can be compared over the same input.
    """

    def __init__(self, producer: Producing, *, per_second: float = PER_SECOND) -> None:
        self._producer = producer
        self._gap_s = 1 / per_second
        self._samples: Iterator[Sample] = iter(())
        self._writing = threading.Lock()
        self._is_paused = True
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-samples", daemon=True)

    def write_first(self, samples: Iterator[Sample], count: int = FIRST) -> None:
        """Write the first samples, and keep the rest for ``resume``.

        Their times are those of a feed that has run for a while: with the same time for all of
        them, windows would show nothing.

        Raises:
            PenstockError: what the samples raise.
        """
        self._samples = samples
        begun_ms = _now_ms()
        for left, sample in zip(range(count, 0, -1), samples, strict=False):
            self._write(sample, begun_ms - round(left * self._gap_s * 1000))
        self._producer.flush(_FLUSH_S)

    def resume(self, samples: Iterator[Sample] | None = None) -> None:
        """Go on writing, from other samples if they are given."""
        with self._writing:
            if samples is not None:
                self._samples = samples
            self._is_paused = False
        if not self._thread.ident:
            self._thread.start()

    def pause(self) -> None:
        """Write nothing more until ``resume``; what was written before is in Kafka."""
        with self._writing:
            self._is_paused = True
            self._producer.flush(_FLUSH_S)

    def close(self) -> None:
        self._has_ended.set()
        if self._thread.ident:
            self._thread.join(_FLUSH_S)
        self._producer.flush(_FLUSH_S)

    def _run(self) -> None:
        while not self._has_ended.wait(self._gap_s):
            with self._writing:
                if not self._is_paused:
                    self._write_next()

    def _write_next(self) -> None:
        try:
            sample = next(self._samples, None)
        except PenstockError as error:
            # The application goes on; only new samples are missing.
            print_error(error)
            sample = None
        if sample is None:
            self._is_paused = True
        else:
            self._write(sample, _now_ms())

    def _write(self, sample: Sample, time_ms: int) -> None:
        at = time_ms if sample.time_ms is None else sample.time_ms
        self._producer.produce(sample.topic, sample.value, sample.key, timestamp=at)
        self._producer.poll(0)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def feed_for(servers: str) -> SampleFeed:
    """Return a feed for a broker; keys go to the partitions that Java's producers choose."""
    settings = {"bootstrap.servers": servers, "partitioner": "murmur2_random", "linger.ms": 5}
    return SampleFeed(new_producer(settings))


def samples_of(program: LoadedProgram) -> Iterator[Sample]:
    """Yield what a program's ``samples()`` yields, as the bytes that its sources read.

    Raises:
        StreamsError: ``program-failed``: ``samples()`` raised an error.
        InvalidArgumentError: ``bad-sample``: it yielded something that is not a record.
    """
    if program.samples is None:
        return
    config = StreamsConfig({APPLICATION_ID.name: "samples", **program.config})
    serdes = TopicSerdes(program.topology.graph, task_settings(config))
    made = iter(_calling(program))
    for record in made:
        yield _encoded(program, serdes, record)


def _calling(program: LoadedProgram) -> Iterator[Any]:
    """Yield from ``samples()``, and name the user's line if it raises."""
    assert program.samples is not None
    try:
        yield from program.samples()
    except Exception as error:
        raise StreamsError(
            "program-failed",
            f"samples() of {str(program.path)!r} raised {error!r}",
            fix="correct the line, or name a broker with --bootstrap: there it is not called",
            at=raising_site(error) or str(program.path),
        ) from error


def _encoded(program: LoadedProgram, serdes: TopicSerdes, record: Any) -> Sample:
    match record:
        case (str() as topic, key, value):
            time_ms = None
        case (str() as topic, key, value, int() as time_ms):
            pass
        case _:
            raise _bad_sample(program, record, "is not a record")
    key_serde, value_serde = serdes.of_input(topic, strict=False)
    try:
        data = (key_serde.serialize(topic, key), value_serde.serialize(topic, value))
    except (TypeError, ValueError, AttributeError) as error:
        raise _bad_sample(program, record, f"cannot be written: {error}") from error
    return Sample(topic, *data, time_ms)


def _bad_sample(program: LoadedProgram, record: Any, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "bad-sample",
        f"samples() of {str(program.path)!r} yielded {record!r:.200}, which {why}",
        fix=f"{_FIX}; key and value as the source of the topic reads them",
        at=str(program.path),
    )
