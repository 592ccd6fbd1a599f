"""The beat of a pool: collects requests of several applications into one Spark job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.exchange.ticket import Answer, Ticket

#: How many jobs run at the same time. With one, new requests wait for the whole job. With many,
#: each job has few requests.
_JOBS = 2


class Told(NamedTuple):
    """The answer to a ticket, and the server that it came from."""

    endpoint: Endpoint
    answer: Answer


#: By id of a ticket: the answer of its server, or why the server could not be asked.
Results = Mapping[str, Told | BaseException]


class _Call(NamedTuple):
    tickets: Sequence[Ticket]
    title: str
    done: Future[Results]


class Beat:
    """Runs tickets of several applications together, in a few jobs at a time.

    A call begins at once if fewer than ``jobs`` jobs are running. Otherwise it waits, and the next
    job runs all waiting calls. There is no fixed waiting time: a single application has a job of
    its own, and the busier the pool, the more calls each job has.

    Args:
        run: runs one job. Its error is raised in every call of the job.
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
        """Run tickets of one application, in a job with those of others; return when it has ended.

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
            except BaseException as error:  # noqa: BLE001 - the waiting calls raise it
                for call in calls:
                    call.done.set_exception(error)
                continue
            for call in calls:
                call.done.set_result({each.id: results[each.id] for each in call.tickets})

    def _gathered(self) -> list[_Call]:
        """Wait for calls, and take all of them; return an empty list when the beat ends."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: bool(self._waiting) or self._is_closed)
            self._idle -= 1
            taken, self._waiting = self._waiting, []
            return taken


def _title(calls: Sequence[_Call]) -> str:
    first = calls[0].title
    return first if len(calls) == 1 else f"{first}, and {len(calls) - 1} more"
