"""Records that Kafka refuses: ask the production exception handler, then run the batch again.

A refused record ends its transaction, and the client does not say which record it was. So the
batch runs again with a :class:`RefusalWatch` around the writer. The watch notes every record that
is refused and asks the handler. The next run leaves out the records that the handler skips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from penstock.errors import StreamsError
from penstock.kafka.error_table import Verdict, reason, verdict
from penstock.kernel.failures import broken_handler
from penstock.kernel.settings import TaskSettings
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers, Record
from penstock.model.topic_partition import TopicPartition
from penstock.processor.handlers import (
    CONTINUE,
    RETRY,
    DeadLetter,
    ErrorHandlerContext,
    Response,
    as_response,
)
from penstock.runtime.spark.worker.kafka_failures import as_streams_error
from penstock.runtime.spark.worker.writer import Writer
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink


class Output(NamedTuple):
    """A record as the program wrote it; Kafka refuses every record of the same content alike."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers

    @property
    def size(self) -> int:
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


class Refused(NamedTuple):
    """A record that Kafka refused, and which input record the task was processing."""

    output: Output
    error: KafkaError
    #: None for changelogs and repartition topics. The application needs all of their records, so
    #: the handler is not asked.
    context: ErrorHandlerContext | None


def is_refusal(error: BaseException) -> bool:
    """Return whether Kafka has refused a record for its content, so that waiting cannot help."""
    cause = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return isinstance(cause, KafkaError) and verdict(cause) is Verdict.RECORD


def noticed(message: str) -> StreamsError:
    """Return the error that makes the driver run the batch again."""
    return StreamsError(
        "refusal-noticed", message, fix="nothing to do: the production exception handler decides"
    )


class RefusalWatch:
    """The refused records of one batch, remembered over all runs of that batch in one slot."""

    def __init__(self, graph: Graph, settings: TaskSettings, *, is_compressed: bool) -> None:
        self._settings = settings
        self._is_compressed = is_compressed
        self._sinks = {
            node.topic: node.name
            for node in graph.nodes.values()
            if isinstance(node, Sink) and isinstance(node.topic, str)
        }
        #: The batch and stage in which a record was refused. Earlier stages commit again before it.
        self.step = 0, 0
        #: The task that is writing now; the slot sets it.
        self.task: StreamTask | None = None
        #: The records that the handler skips, with the dead letters to write in their place.
        self._skipped: dict[Output, tuple[DeadLetter, ...]] = {}
        self._refused: list[Refused] = []
        #: By topic: the size of the smallest record that was too large, and Kafka's error.
        self._too_large: dict[str, tuple[int, KafkaError]] = {}

    def around(self, writer: Writer) -> WatchedWriter:
        self._refused.clear()
        return WatchedWriter(writer, self)

    def passes(self, output: Output) -> bool:
        """Return whether to write the record.

        A record that must be refused, because a smaller one of its topic was too large, is noted
        as refused at once.
        """
        if output in self._skipped:
            self._skip(output)
            return False
        smallest, error = self._too_large.get(output.topic, (None, None))
        if smallest is None or output.size < smallest:
            return True
        assert error is not None
        self._refused.append(Refused(output, error, self.context(output.topic)))
        return False

    def dead_letters(self, output: Output) -> tuple[DeadLetter, ...]:
        return self._skipped.get(output, ())

    def note(self, refused: Refused) -> None:
        """Note a record that did not arrive, if Kafka refused it for its own content.

        Other records of the same transaction fail with it. They are not noted.
        """
        output, error, context = refused
        if verdict(error) is not Verdict.RECORD:
            return
        self._refused.append(refused)
        if context is None or self._is_compressed:
            # With compression, a larger record may become the smaller one. So the size of a
            # refused record says nothing about others.
            return
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            smallest, _ = self._too_large.get(output.topic, (output.size, error))
            self._too_large[output.topic] = min(smallest, output.size), error

    def decide(self) -> None:
        """Ask the handler about every refused record, and raise, so that the batch runs again.

        Return without an error if no record was refused.
        """
        found, self._refused = self._refused, []
        answers = [self._answer(each) for each in found]
        for refused, response in zip(found, answers, strict=True):
            if response.result is CONTINUE:
                self._skipped[refused.output] = (*response.dead_letters, *self._entries(refused))
        if any(response.result is RETRY for response in answers):
            # The user may raise the topic's limit before the next run.
            self._too_large.clear()
            raise noticed(f"{_said(found[0])}; the production handler asks to try again")
        if found:
            raise noticed(f"{_said(found[0])}; the batch runs again without it")

    def context(self, topic: str) -> ErrorHandlerContext:
        """Return the record that the task is processing now, for the handler."""
        assert self.task is not None
        return self.task.failures.context(self._sinks.get(topic, topic))

    def _entries(self, refused: Refused) -> tuple[DeadLetter, ...]:
        """Return the entry of the processing log about a record that is skipped."""
        output, error, context = refused
        log = None if self.task is None else self.task.log
        if log is None or context is None or output.topic == log.topic:
            return ()
        failure = as_streams_error(KafkaException(error))
        return (log.production(context, output.topic, failure),)

    def _skip(self, output: Output) -> None:
        assert self.task is not None
        self.task.dropped(self._sinks.get(output.topic, output.topic), "production")

    def _answer(self, refused: Refused) -> Response:
        output, error, context = refused
        failure = as_streams_error(KafkaException(error))
        if context is None:
            raise StreamsError("record-refused", _said(refused), fix=_FIX) from failure
        assert isinstance(failure, StreamsError)
        record = Record(output.key, output.value, max(output.timestamp, 0), output.headers)
        handler = self._settings.on_production
        try:
            response = as_response(handler(context, record, failure))
        except Exception as broken:
            raise broken_handler(handler, _said(refused), broken) from broken
        if response.result not in (CONTINUE, RETRY):
            raise StreamsError("record-refused", _said(refused), fix=_FIX) from failure
        return response


class WatchedWriter:
    """A writer that reports every record that does not arrive to a :class:`RefusalWatch`."""

    def __init__(self, writer: Writer, watch: RefusalWatch) -> None:
        self._writer = writer
        self._watch = watch

    @property
    def is_transactional(self) -> bool:
        return self._writer.is_transactional

    @property
    def is_usable(self) -> bool:
        return self._writer.is_usable

    def begin(self) -> None:
        self._writer.begin()

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None,
        on_delivery: Any = None,
    ) -> None:
        """Send a record.

        Records without ``on_delivery`` are the program's own output; only those may be skipped.
        """
        output = Output(topic, key, value, timestamp, tuple(headers))
        if on_delivery is not None:
            self._send(output, partition, None, on_delivery)
        elif self._watch.passes(output):
            self._send(output, partition, self._watch.context(topic), None)
        else:
            for letter in self._watch.dead_letters(output):
                at = timestamp if letter.timestamp is None else letter.timestamp
                self.send(letter.topic, letter.key, letter.value, at, letter.headers, None)

    def _send(
        self,
        output: Output,
        partition: int | None,
        context: ErrorHandlerContext | None,
        on_delivery: Any,
    ) -> None:
        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is not None:
                self._watch.note(Refused(output, error, context))
            if on_delivery is not None:
                on_delivery(error, message)

        self._writer.send(*output, partition, delivered)

    def send_all(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Send changelog records.

        A watched task runs record by record, so its output goes through ``send``.
        """
        for record in zip(keys, values, timestamps, strict=True):
            self._send(Output(topic, *record, tuple(headers)), partition, None, None)

    def commit(self, offsets: Mapping[TopicPartition, int], group: Any) -> None:
        self._watch.decide()
        try:
            self._writer.commit(offsets, group)
        except Exception as error:
            self._watch.decide()
            if is_refusal(error):
                raise noticed("Kafka refused a record that cannot be named yet") from error
            raise

    def flush(self) -> None:
        self._writer.flush()

    def abort(self) -> None:
        self._writer.abort()

    def partitions(self, topic: str) -> int:
        return self._writer.partitions(topic)


_FIX = (
    "set max.message.bytes of the topic and max.request.size of the producer, or let"
    " production.exception.handler skip such records"
)


def _said(refused: Refused) -> str:
    output, error, context = refused
    source = ""
    if context is not None and context.topic is not None:
        source = (
            f", made from topic {context.topic!r} partition {context.partition}"
            f" offset {context.offset}"
        )
    return (
        f"Kafka refused a record of {output.size} bytes for topic {output.topic!r}{source}:"
        f" {reason(error)} ({error.name()})"
    )
