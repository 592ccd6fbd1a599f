"""Drops records that repeat an earlier one. Node: ``topology.nodes.streams.deduplicate``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operator_clock import OperatorClock
from penstock.model.record import Headers
from penstock.model.rules.drop_reasons import DUPLICATE
from penstock.topology.nodes.streams.deduplicate import Deduplicate


@executes(Deduplicate)
class DeduplicateExecutor(Executor[Deduplicate]):
    """Forwards a record unless the store has one with the same identity within the interval.

    The interval begins with the first record and is measured in stream time. Duplicates do not
    prolong it. The store never has two live rows of one identity.
    """

    def init(self) -> None:
        self.clock = OperatorClock()
        self._store = self.task.store(self.node.store)
        self._position: tuple[str | None, int] = (None, -1)
        #: How many records of this position have reached the node.
        self._count = 0

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        origin, stream_time = self._origin(), self.clock.advance(timestamp)
        select = self.node.id_selector
        identity: Any = key
        if key is not None and select is not None:
            chosen = select(key, value)
            identity = None if chosen is None else (key, chosen)
        if identity is not None:
            oldest = stream_time - self.node.interval_ms
            earlier = self._earlier(identity, oldest, timestamp + self.node.interval_ms)
            if earlier is None:
                # A record that is older than the interval begins none: it would end at once.
                if timestamp >= oldest:
                    self._store.put(identity, origin, timestamp)
            elif not origin or earlier != origin:
                self.task.dropped(self.node.name, DUPLICATE)
                return
        self.forward(key, value, timestamp, headers)

    def _earlier(self, identity: Any, oldest: int, newest: int) -> str | None:
        """Return where the live record with this identity came from; None if there is none."""
        with self._store.fetch(identity, max(oldest, 0), newest) as rows:
            for _, origin in rows:
                found: str = origin
                return found
        return None

    def _origin(self) -> str:
        """Return where the record comes from: text that only the same record has again.

        Without transactions, a changelog may be ahead of the committed offsets. After a crash such
        a record is read again. Its origin tells that it is not a duplicate of itself. The number
        tells apart what one record became before it came here. A record of a punctuation has no
        position, and so no origin.
        """
        context = self.context
        position = context.topic, context.offset
        if context.topic is None:
            return ""
        self._count = self._count + 1 if position == self._position else 0
        self._position = position
        return f"{context.offset}.{self._count}@{context.topic}"
