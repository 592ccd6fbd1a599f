"""The stages of an application that shares its slot servers and its Spark jobs with others."""

from __future__ import annotations

import threading
import uuid
from collections import Counter

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.driver.pool.beat import Told
from penstock.runtime.spark.driver.pool.slot_pool import SlotPool
from penstock.runtime.spark.exchange.channel import ask
from penstock.runtime.spark.exchange.stage_request import Application, Outcome, StageRequest
from penstock.runtime.spark.exchange.ticket import Answer, Stand, Ticket

#: After so many lost servers in a row, a slot gets a server of its own.
_LOSSES = 2


class PooledJobs:
    """Runs stages through the beat of a pool, and waits itself for stages that take long.

    If a server does not know the application, it answers so. Then the driver sends the pickled
    application directly to the server, once for each slot.
    """

    def __init__(self, pool: SlotPool, application: Application) -> None:
        self._pool = pool
        self._application = application
        self._packed = packed(application)
        self._cancelled = threading.Event()
        self._losses: Counter[int] = Counter()

    def run(self, kind: str, request: StageRequest, title: str) -> list[Outcome]:
        tickets = [self._ticket(kind, request, number) for number in range(request.slots)]
        results = self._pool.beat.run(tickets, title)
        # Start all slots before waiting for the first one.
        begun = [self._begun(ticket, results[ticket.id]) for ticket in tickets]
        outcomes = [self._ended(*each) for each in zip(tickets, begun, strict=True)]
        for outcome in outcomes:
            self._note(outcome)
        return outcomes

    def to_move(self, slots: int) -> int | None:
        # Servers of a pool have slots of several applications, and stay where they are.
        return None

    def standby_lags(self) -> dict[int, int | None]:
        # Applications of a pool keep no standbys on executors.
        return {}

    def cancel(self) -> None:
        self._cancelled.set()

    def close(self) -> None:
        # Nothing of this run is in Spark. Its places stay until the application ends.
        return

    def _ticket(self, kind: str, request: StageRequest, number: int) -> Ticket:
        return Ticket(
            id=uuid.uuid4().hex,
            kind=kind,
            key=self._application.key,
            number=number,
            place=self._pool.place_of(self._application.id, number),
            request=request,
        )

    def _begun(self, ticket: Ticket, told: Told | BaseException) -> Told | BaseException:
        """Send the application to a server that does not have it, which then begins the ticket."""
        if isinstance(told, BaseException) or told.answer.stand is not Stand.UNKNOWN:
            return told
        return self._asked(told, ("learn", ticket, self._packed))

    def _ended(self, ticket: Ticket, told: Told | BaseException) -> Outcome:
        while not isinstance(told, BaseException) and told.answer.stand is Stand.PENDING:
            if self._cancelled.is_set():
                told = _given_up(ticket)
                break
            told = self._asked(told, ("wait", ticket.key, ticket.number, ticket.id))
        if isinstance(told, BaseException):
            return Outcome(slot=ticket.number, error=told)
        content = told.answer.content
        if told.answer.stand is Stand.FAILED:
            return Outcome(slot=ticket.number, endpoint=told.endpoint, error=content)
        return Outcome(slot=ticket.number, endpoint=told.endpoint, reports=tuple(content or ()))

    def _asked(self, told: Told, question: tuple[object, ...]) -> Told | BaseException:
        try:
            answer: Answer = ask(told.endpoint, self._pool.secret, question)
        except Exception as error:  # noqa: BLE001 - the driver decides what to do about it
            return error
        return Told(told.endpoint, answer)

    def _note(self, outcome: Outcome) -> None:
        """Count servers that ended during a stage, because this application may be the reason.

        It is not known which of its applications has ended a server. After two losses in a row,
        each of them continues in a server of its own, where it cannot harm the others.
        """
        if getattr(outcome.error, "code", "") != "worker-lost":
            self._losses.pop(outcome.slot, None)
            return
        self._losses[outcome.slot] += 1
        if self._losses[outcome.slot] == _LOSSES:
            self._pool.seclude(self._application.id, outcome.slot)


def _given_up(ticket: Ticket) -> StreamsError:
    return StreamsError(
        "spark-job",
        f"batch {ticket.request.batch} was given up while slot {ticket.number} worked on it",
        fix="nothing of the batch was lost: the next run finishes it",
    )
