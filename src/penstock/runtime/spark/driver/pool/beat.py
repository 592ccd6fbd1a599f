"""The beat of a pool: what applications have ready is gathered and runs as one Spark job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.exchange.ticket import Answer, Ticket

#: Jobs that are under way at the same time. With one, whatever arrives waits for the whole of it;
#: with many, each job carries little.
_JOBS = 2


class Told(NamedTuple):
    """The answer to a ticket, and the server that gave it."""

    endpoint: Endpoint
    answer: Answer


#: By id of a ticket: what its server said, or why it could not be asked.
Results = Mapping[str, Told | BaseException]


class _Call(NamedTuple):
    tickets: Sequence[Ticket]
    title: str
    done: Future[Results]


class Beat:
    """Runs tickets of several applications together, in a few jobs at a time.

    A call that finds no job under way begins at once. While jobs are under way, calls are gathered,
    and the next job has them all. There is no fixed time to wait: an application that is alone has
    a job of its own, and the busier the pool, the more each job carries.

    Args:
        run: runs one job; raises what Spark meets, which every call of the job then gets.
    """

    def __init__(self, run: Callable[[Sequence[Ticket], str], Results], jobs: int = _JOBS) -> None:
        self._run = run
        self._jobs = jobs
        self._waiting: list[_Call] = []
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._is_closed = False

    def run(self, tickets: Sequence[Ticket], title: str) -> Results:
        """Run tickets of one application with what else there is; return when their job is over.

        Raises:
            StreamsError: ``spark-lost``, if the pool has ended with its Spark session.
        """
        call = _Call(tickets, title, Future())
        with self._changed:
            if self._is_closed:
                raise StreamsError(
                    "spark-lost",
                    "the Spark session of the pool was stopped",
                    fix="close the applications before the session, then start them again",
                )
            self._waiting.append(call)
            if not self._idle and len(self._threads) < self._jobs:
                self._start()
            self._changed.notify()
        return call.done.result()

    def close(self) -> None:
        """End the threads after the jobs that are under way."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="penstock-beat", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while True:
            calls = self._gathered()
            if not calls:
                return
            tickets = [ticket for call in calls for ticket in call.tickets]
            try:
                results = self._run(tickets, _title(calls))
            except BaseException as error:  # noqa: BLE001 - it belongs to those who wait
                for call in calls:
                    call.done.set_exception(error)
                continue
            for call in calls:
                call.done.set_result({each.id: results[each.id] for each in call.tickets})

    def _gathered(self) -> list[_Call]:
        """Wait for calls, and take all of them; nothing when the beat ends."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: bool(self._waiting) or self._is_closed)
            self._idle -= 1
            taken, self._waiting = self._waiting, []
            return taken


def _title(calls: Sequence[_Call]) -> str:
    first = calls[0].title
    return first if len(calls) == 1 else f"{first}, and {len(calls) - 1} more"
