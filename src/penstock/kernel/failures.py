"""Failures in a node: a handler decides, and errors name node, line of the program and record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, StreamsError, UnavailableError
from penstock.model.change import Change
from penstock.model.record import ConsumerRecord, Headers, Record, RecordContext
from penstock.model.rules.drop_reasons import DESERIALIZATION, PROCESSING, PRODUCTION
from penstock.model.site import raising_site
from penstock.processor.handlers import (
    CONTINUE,
    ErrorHandlerContext,
    ExceptionHandler,
    Response,
    as_response,
)
from penstock.topology.titles import is_generated, label, named_operator

if TYPE_CHECKING:
    from penstock.kernel.executor import Executor, Forward
    from penstock.kernel.record_queue import RawRecord
    from penstock.kernel.task import StreamTask
    from penstock.topology.nodes.node import Node

_CONTINUE_FIX = (
    "handle such records in the function, or set {setting} to continue"
    " (with errors.dead.letter.queue.topic.name to keep them)"
)


#: Characters of a key or value in an error.
_MOST_SHOWN = 300
_GLOBAL_SETTING = "processing.exception.handler.global.enabled to true and {setting}"


class FailedProcessingError(Exception):
    """Carries a node's failure up to the task, so that parents do not handle it a second time.

    ``position`` is the position of the record that failed. The task may be at another record by
    then. ``is_global`` says that the node belongs to a global store, which has its own setting.
    ``record`` is what the node was given; a punctuation has none.
    """

    def __init__(
        self,
        node: Node,
        error: Exception,
        position: RecordContext,
        *,
        is_global: bool = False,
        record: Record[Any, Any] | None = None,
    ) -> None:
        super().__init__(node.name, error)
        self.node = node
        self.error = error
        self.position = position.copy()
        self.is_global = is_global
        self.record = record


class Guard:
    """Calls a node. ``enter`` may be passed on before ``bind`` says which function it calls."""

    __slots__ = ("bind", "enter")

    def __init__(
        self, node: Node, handle: Callable[[Node, Record[Any, Any], Exception], None]
    ) -> None:
        process: Forward

        def enter(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            try:
                process(key, value, timestamp, headers)
            except FailedProcessingError:
                raise
            except Exception as error:  # noqa: BLE001 - user code; the handler decides
                handle(node, _record(key, value, timestamp, headers), error)

        def bind(target: Forward) -> None:
            nonlocal process
            process = target

        self.enter: Forward = enter
        self.bind = bind


class Failures:
    """Asks the configured handlers and sends dead letters; each task has one."""

    def __init__(self, task: StreamTask) -> None:
        self._task = task
        self._settings = task.settings
        self._is_global = task.task_id.subtopology < 0
        self._titles: dict[str, str] = {}

    def guard(self, executor: Executor[Any]) -> Guard:
        """Wrap the call of a node, so that its own failures, and only those, are handled."""
        return Guard(executor.node, self._processing)

    def function(self, node: Node, record: Record[Any, Any], error: Exception) -> None:
        """Return if the handler wants the record to be left out; otherwise raise."""
        self._processing(node, record, error)

    def punctuation(self, node: Node, error: Exception) -> None:
        self._processing(node, None, error)

    @property
    def on_deserialization(self) -> ExceptionHandler:
        return self._settings.on_deserialization

    def deserialization(
        self, node: Node, raw: RawRecord, error: Exception, part: str = "value"
    ) -> None:
        """Return if the handler wants the record to be skipped; otherwise raise.

        ``part`` says what cannot be decoded: the key or the value.
        """
        if isinstance(error, UnavailableError):
            raise error
        context = ErrorHandlerContext(
            raw.topic, raw.partition, raw.offset, raw.headers, raw.timestamp, node.name,
            self._task.task_id, raw.key, raw.value, self._settings.dead_letter_topic,
            self._title(node.name),
        )  # fmt: skip
        record = ConsumerRecord(
            raw.topic, raw.partition, raw.offset, raw.timestamp, raw.key, raw.value, raw.headers
        )
        try:
            response = self._ask(self._settings.on_deserialization, node, context, record, error)
        except FailedProcessingError as failed:
            raise failed.error from error
        if response.result is not CONTINUE:
            raise StreamsError(
                "deserialization",
                f"{_source(node, raw.topic)} cannot decode a record: {_said(error)}"
                f"\n  record: topic {raw.topic!r} partition {raw.partition} offset {raw.offset}",
                _CONTINUE_FIX.format(setting="deserialization.exception.handler").replace(
                    "handle such records in the function", "give the source the serde of its topic"
                ),
                node.site,
            ) from error
        self._task.dropped(node.name, DESERIALIZATION, raw)
        if self._task.log is not None:
            self._task.log.deserialization(node, raw, error, part)

    def production(
        self, node: Node, topic: str, record: Record[Any, Any], error: Exception, part: str
    ) -> bool:
        """Return true if the record is to be skipped, false if the error is to be raised.

        ``part`` says what cannot be encoded for the topic: the key or the value.
        """
        if isinstance(error, UnavailableError):
            return False
        handler, context = self._settings.on_production, self.context(node.name)
        response = self._ask(handler, node, context, record, error)
        if response.result is not CONTINUE:
            return False
        self._task.dropped(node.name, PRODUCTION)
        if self._task.log is not None:
            self._task.log.serialization(node, topic, record, error, part)
        return True

    def _processing(self, node: Node, record: Record[Any, Any] | None, error: Exception) -> None:
        if isinstance(error, UnavailableError):
            raise self._failed(node, error) from error
        context = self.context(node.name)
        response = self._ask(self._settings.on_processing, node, context, record, error)
        if response.result is not CONTINUE:
            raise self._failed(node, error, record) from error
        self._task.dropped(node.name, PROCESSING)
        if self._task.log is not None:
            self._task.log.processing(node, record, error)

    def _failed(
        self, node: Node, error: Exception, record: Record[Any, Any] | None = None
    ) -> FailedProcessingError:
        return FailedProcessingError(
            node, error, self._task.context, is_global=self._is_global, record=record
        )

    def context(self, node: str) -> ErrorHandlerContext:
        """Return where the task is now, for the handler of a failure in that node."""
        at: RecordContext = self._task.context
        current = self._task.current
        raw_key, raw_value = (None, None) if current is None else current[4:6]
        return ErrorHandlerContext(
            at.topic, at.partition, at.offset, at.headers, at.timestamp, node,
            self._task.task_id, raw_key, raw_value, self._settings.dead_letter_topic,
            self._title(node),
        )  # fmt: skip

    def _title(self, node: str) -> str:
        """Return what people call a node; nothing for a topic that no node of the task writes.

        It is remembered: a context is made for every record that is sent.
        """
        found = self._titles.get(node)
        if found is None:
            known = self._task.find_node(node)
            found = self._titles[node] = "" if known is None else label(known)
        return found

    def _ask(
        self,
        handler: ExceptionHandler,
        node: Node,
        context: ErrorHandlerContext,
        record: Any,
        error: Exception,
    ) -> Response:
        try:
            response = as_response(handler(context, record, error))
        except Exception as failure:
            what = f"{_said(error)} of node {node.name!r}"
            broken = broken_handler(handler, what, failure, node.site)
            raise self._failed(node, broken) from failure
        for letter in response.dead_letters:
            timestamp = context.timestamp if letter.timestamp is None else letter.timestamp
            self._task.collector.send(
                letter.topic, letter.key, letter.value, timestamp, letter.headers
            )
        return response


def processing_error(
    failed: FailedProcessingError, raw_key: bytes | None = None, when: str = ""
) -> StreamsError:
    """Return an error that names the node, the line and the record of a failure."""
    node, error = failed.node, failed.error
    where = _where(failed.position, raw_key) + when
    setting = "processing.exception.handler"
    if failed.is_global:
        setting = _GLOBAL_SETTING.format(setting=setting)
    if not isinstance(error, PenstockError):
        fix = _CONTINUE_FIX.format(setting=setting)
        at = raising_site(error) or node.site
        made = f" at {node.site}" if node.site else ""
        name = f"\n  node:  {node.name}" if is_generated(node.name) else ""
        given = _given(failed.record)
        message = f"{named_operator(node)}{made} raised {error!r}\n  {where}{given}{name}"
        return StreamsError("user-function", message, fix, at)
    # A store or a serde knows what is wrong, but not where in the program.
    names_node = error.at is not None or node.name in error.message
    said = error.message if names_node else f"node {node.name!r}: {error.message}"
    fix = error.fix or _CONTINUE_FIX.format(setting=setting)
    return StreamsError(error.code, f"{said}\n  {where}", fix, error.at or node.site)


def _where(position: RecordContext, raw_key: bytes | None) -> str:
    if position.topic is None:
        return f"in a punctuation at time {position.timestamp}"
    key = "" if raw_key is None else f" key {_shown(raw_key)}"
    return (
        f"record: topic {position.topic!r} partition {position.partition}"
        f" offset {position.offset}{key}"
    )


def _given(record: Record[Any, Any] | None) -> str:
    """Return the key and the value that the function was called with, each cut to one line."""
    if record is None:
        return ""
    value = record.value.new if isinstance(record.value, Change) else record.value
    return f"\n  key:   {_short(record.key)}\n  value: {_short(value)}"


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - the user's code
        text = f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}… ({len(text):,} characters)"


def _shown(raw_key: bytes) -> str:
    """Return bytes of UTF-8 as text: most keys are text, and text is easier to search for."""
    try:
        text = raw_key.decode()
    except UnicodeDecodeError:
        return repr(raw_key)
    return repr(text) if text.isprintable() else repr(raw_key)


def broken_handler(
    handler: ExceptionHandler, what: str, failure: Exception, at: str | None = None
) -> StreamsError:
    """Return the error for a handler that fails itself when it is asked about ``what``."""
    name = getattr(handler, "__qualname__", type(handler).__qualname__)
    return StreamsError(
        "exception-handler",
        f"exception handler {name!r} failed on {what}: {failure}",
        "make the handler return FAIL, CONTINUE, RETRY or a Response for every error",
        at,
    )


def _said(error: Exception) -> str:
    return error.message if isinstance(error, PenstockError) else repr(error)


def _record(key: Any, value: Any, timestamp: int, headers: Headers) -> Record[Any, Any]:
    return Record(key, value, max(timestamp, 0), headers)


def _source(node: Node, topic: str) -> str:
    """Return what a source is called: by its name, or by its topic if nobody has named it."""
    return f"the source of topic {topic!r}" if is_generated(node.name) else f"source {node.name!r}"
