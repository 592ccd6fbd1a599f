"""What a processor may do while it runs. Its public interface: ``penstock.processor.context``."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import get_ident
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from penstock.errors import (
    InvalidArgumentError,
    StreamsError,
    UnknownStoreError,
    UnsupportedOperationError,
)
from penstock.kernel.read_only_store import ReadOnlyStore
from penstock.model.record import FixedKeyRecord, Record, RecordMetadata
from penstock.model.task_id import TaskId
from penstock.model.time.duration import Duration, to_ms
from penstock.model.time.instant import Instant, to_epoch_ms
from penstock.processor.context import Cancellable, PunctuationType, Punctuator
from penstock.processor.metrics import StreamsMetrics
from penstock.topology.validate import nearest

if TYPE_CHECKING:
    from penstock.kernel.executor import Executor, Forward


class NodeContext:
    """The task as the user code of one node sees it: with the stores that the node is connected to.

    It refuses ``forward``, because a table's transformer must return its result.
    """

    def __init__(self, executor: Executor[Any]) -> None:
        self._node = executor.node
        self._task = executor.task
        self._at = executor.task.context

    @property
    def application_id(self) -> str:
        return self._task.application_id

    @property
    def task_id(self) -> TaskId:
        return self._task.task_id

    @property
    def record_metadata(self) -> RecordMetadata | None:
        """Where the record was read from; in a punctuation, topic ``None`` and offset -1."""
        at = self._at
        return RecordMetadata(at.topic, at.partition, at.offset)

    @property
    def state_dir(self) -> Path | None:
        """The task's directory for its persistent stores, or ``None`` if it has none."""
        return self._task.state_dir

    def get_state_store(self, name: str) -> Any:
        """Return a connected store, or a global store that can only be read."""
        if name in self._node.stores:
            return self._task.store(name)
        if self._task.is_global_store(name):
            return ReadOnlyStore(self._task.store(name))
        connected = ", ".join(map(repr, self._node.stores)) or "none"
        near = difflib.get_close_matches(name, self._node.stores, n=1)
        raise UnknownStoreError(
            "unknown-store",
            f"processor {self._node.name!r} has no access to state store {name!r};"
            f" connected are: {connected}",
            fix=f"did you mean {near[0]!r}?"
            if near
            else f"connect it: process(supplier, {name!r}), add_state_store(builder,"
            f" {self._node.name!r}) or stores() of the supplier",
            at=self._node.site,
        )

    def schedule(
        self,
        interval: Duration,
        kind: PunctuationType,
        callback: Punctuator,
        start_time: Instant | None = None,
    ) -> Cancellable:
        """Call ``callback`` with the time, between records, on the task's thread.

        ``start_time`` anchors the schedule: the callback is due at that time and at whole intervals
        after it, so that ``"1h"`` from midnight means every full hour. A start time that has passed
        is due at once. Without it, stream time starts at 0 and the wall clock one interval from
        now.
        """
        interval_ms = to_ms(interval, "interval")
        start_ms = None if start_time is None else to_epoch_ms(start_time, "start_time")
        if interval_ms < 1:
            raise InvalidArgumentError(
                "bad-interval",
                f"processor {self._node.name!r}: interval {interval!r} is shorter than 1 ms",
                fix="give an interval of 1 ms or more",
                at=self._node.site,
            )
        return self._task.schedule(self._node.name, interval_ms, kind, callback, start_ms)

    def forward(self, record: Any, child: str | None = None) -> None:
        raise UnsupportedOperationError(
            "forward-not-allowed",
            f"node {self._node.name!r} returns one value per row and cannot forward records",
            fix="return the new value from transform(), or use process() of a stream",
            at=self._node.site,
        )

    def metrics(self) -> StreamsMetrics:
        """Return the sensors of the task, to which processors add their own."""
        return self._task.sensors

    def commit(self) -> None:
        """Ask for a commit as soon as possible; it has not happened when this returns."""
        self._task.request_commit()

    def current_stream_time_ms(self) -> int:
        return self._task.stream_time()

    def current_system_time_ms(self) -> int:
        return self._task.system_time()

    def app_configs(self) -> Mapping[str, Any]:
        return MappingProxyType(self._task.configs)

    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, Any]:
        """Return the settings whose names start with the prefix, under their names without it."""
        return {
            name.removeprefix(prefix): value
            for name, value in self._task.configs.items()
            if name.startswith(prefix)
        }


class ForwardingContext(NodeContext):
    """The context of a processor: a forwarded record is processed before ``forward`` returns.

    ``record_type`` is what the processor may forward: records with any key, or fixed-key records.
    """

    def __init__(
        self,
        executor: Executor[Any],
        record_type: type[Record[Any, Any] | FixedKeyRecord[Any, Any]],
    ) -> None:
        super().__init__(executor)
        self._record_type = record_type
        self._executor = executor
        self.redirect()

    def redirect(
        self,
        forward: Forward | None = None,
        way_to: Callable[[str], Forward | None] | None = None,
    ) -> None:
        """Forward elsewhere from now on, or, without arguments, to the nodes of the task again.

        Args:
            forward: Takes what is forwarded to all children.
            way_to: Returns what takes records for one child.
        """
        self._forward = forward or self._executor.forward
        self._way_of = way_to or self._task.child
        self._ways: dict[str, Forward] = {}

    def forward(self, record: Any, child: str | None = None) -> None:
        """Forward to all children, or to the child of that name."""
        if self._task.thread != get_ident():
            raise self._out_of_scope()
        if record.__class__ is not self._record_type:
            self._check(record)
        forward = self._forward
        if child is not None:
            forward = self._ways.get(child) or self._way_to(child)
        at, timestamp, headers = self._at, record.timestamp, record.headers
        if timestamp == at.timestamp and headers is at.headers:
            forward(record.key, record.value, timestamp, headers)
            return
        before = at.timestamp, at.headers
        at.timestamp, at.headers = timestamp, headers
        try:
            forward(record.key, record.value, timestamp, headers)
        finally:
            at.timestamp, at.headers = before

    def _out_of_scope(self) -> StreamsError:
        """Return the error for a record that no batch would commit, or that another one races."""
        is_idle = self._task.thread is None
        when = "while no record is processed" if is_idle else "on another thread than its task's"
        return StreamsError(
            "forward-out-of-scope",
            f"processor {self._node.name!r} calls forward {when}",
            fix="forward inside process() or a punctuation: keep what another thread has found in a"
            " queue, and let context.schedule(…) forward it",
            at=self._node.site,
        )

    def _way_to(self, child: str) -> Forward:
        way = self._way_of(child)
        if way is None or self._node.name not in self._task.node(child).parents:
            known = ", ".join(map(repr, self._children())) or "none"
            raise StreamsError(
                "unknown-child",
                f"processor {self._node.name!r} has no child {child!r}; its children are: {known}"
                f"{nearest(child, self._children())}",
                fix="forward to a node that was added with this processor as its parent",
                at=self._node.site,
            )
        self._ways[child] = way
        return way

    def _children(self) -> Sequence[str]:
        return self._task.children(self._node.name)

    def _check(self, record: Any) -> None:
        if isinstance(record, self._record_type):
            return
        wanted = self._record_type.__name__
        fix = f"forward a {wanted}: record.with_value(...) makes one"
        if isinstance(record, Record):
            fix = "use process() instead of process_values() to change keys, or " + fix
        raise StreamsError(
            "not-a-record",
            f"processor {self._node.name!r} forwards {record!r}, which is not a {wanted}",
            fix=fix,
            at=self._node.site,
        )
