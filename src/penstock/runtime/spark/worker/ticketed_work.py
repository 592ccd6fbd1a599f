"""The work that shared beats ask a slot server for; each ticket runs in a thread of its own.

One application must not hold up another. So a beat waits only for a moment, and work that takes
longer continues here. The answer is kept until the slot gets its next ticket.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Any

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import portable
from penstock.runtime.spark.exchange.ticket import Answer, Stand, Ticket
from penstock.runtime.spark.worker.kafka_failures import as_streams_error

_Slot = tuple[str, int]


class TicketedWork:
    """Start the work of each ticket once, and keep the newest answer of each slot."""

    def __init__(self) -> None:
        self._newest: dict[_Slot, tuple[str, Future[Answer]]] = {}
        self._lock = threading.Lock()

    def has(self, ticket: Ticket) -> bool:
        """Tell whether the work of this ticket has begun or is done."""
        with self._lock:
            return self._newest.get(ticket.slot, ("",))[0] == ticket.id

    @property
    def is_busy(self) -> bool:
        """Whether any ticket is being worked on; its slot may still have to be created."""
        with self._lock:
            return any(not future.done() for _, future in self._newest.values())

    def begin(self, ticket: Ticket, work: Callable[[], Any]) -> None:
        """Start the work in another thread, unless another Spark task has started it."""
        done: Future[Answer] = Future()
        with self._lock:
            if self._newest.get(ticket.slot, ("",))[0] == ticket.id:
                return
            self._newest[ticket.slot] = ticket.id, done

        def run() -> None:
            try:
                done.set_result(Answer(Stand.DONE, work()))
            except BaseException as error:  # noqa: BLE001 - it is sent to the driver
                done.set_result(Answer(Stand.FAILED, portable(as_streams_error(error))))

        threading.Thread(target=run, name="penstock-slot", daemon=True).start()

    def answers(self, tickets: Sequence[Ticket], patience_s: float) -> list[tuple[str, Answer]]:
        """Wait at most ``patience_s`` for all tickets; return the progress of each one."""
        deadline = time.monotonic() + patience_s
        futures = {ticket.id: self._future(ticket.slot, ticket.id) for ticket in tickets}
        known = [future for future in futures.values() if future is not None]
        wait(known, max(deadline - time.monotonic(), 0.0))
        return [(name, _stand(future)) for name, future in futures.items()]

    def answer(self, slot: _Slot, ticket: str, patience_s: float) -> Answer:
        """Wait for one ticket; raise if the slot has a newer one, or none."""
        future = self._future(slot, ticket)
        if future is None:
            raise StreamsError(
                "slot-unreachable",
                f"slot {slot[1]} does not work on this request any more",
                fix="nothing to do: the batch runs again",
            )
        wait([future], patience_s)
        return _stand(future)

    def forget(self, slot: _Slot) -> None:
        with self._lock:
            self._newest.pop(slot, None)

    def _future(self, slot: _Slot, ticket: str) -> Future[Answer] | None:
        with self._lock:
            newest, future = self._newest.get(slot, ("", None))
        return future if newest == ticket else None


def _stand(future: Future[Answer] | None) -> Answer:
    if future is None:
        return Answer(Stand.UNKNOWN)
    return future.result() if future.done() else Answer(Stand.PENDING)
