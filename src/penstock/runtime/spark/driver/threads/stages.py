"""Runs stages of one application: asks the stream threads of all slots at the same time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.exchange.channel import ThreadLostError, Waiting
from penstock.runtime.spark.exchange.kept_connections import KeptConnections
from penstock.runtime.spark.exchange.questions import RunStage, SlotId, WarmUp
from penstock.runtime.spark.exchange.stage_request import Application, Outcome, StageRequest

#: After so many lost threads in a row, a slot gets a thread of its own.
_LOSSES = 2
_MOST_AT_ONCE = 64
#: How long one record may keep Python to itself, as Kafka's ``max.poll.interval.ms``.
_LONGEST_S = 300.0


class Stages:
    """Brings the stages of an application to its slots, and their reports back.

    Args:
        look: called twice a second while there is no thread for a slot.
        shares: whether other applications have slots in the same threads.
    """

    def __init__(
        self,
        application: Application,
        placement: Placement,
        look: Callable[[], None],
        *,
        shares: bool,
    ) -> None:
        self._application = application
        self._placement = placement
        self._look = look
        self._shares = shares
        self._packed = packed(application)
        self._is_cancelled = threading.Event()
        self._losses: Counter[int] = Counter()
        self._connections = KeptConnections(placement.threads.secret)
        self._asking = ThreadPoolExecutor(_MOST_AT_ONCE, "penstock-stage")

    @property
    def pickled(self) -> bytes:
        """The application as it is sent to threads."""
        return self._packed

    def warm_up(self, request: StageRequest) -> list[Outcome]:
        """Let all slots prepare a stage."""
        return self._all(WarmUp, request)

    def run(self, request: StageRequest) -> list[Outcome]:
        """Run a stage on all slots; return one outcome for each."""
        return self._all(RunStage, request)

    def cancel(self) -> None:
        """Give up waiting for the stage that is under way, which has taken too long."""
        self._is_cancelled.set()

    def close(self) -> None:
        self._is_cancelled.set()
        self._connections.close()
        self._asking.shutdown(wait=False)

    def _slot(self, number: int) -> SlotId:
        return SlotId(self._application.key, number)

    def _all(self, question: type[RunStage] | type[WarmUp], request: StageRequest) -> list[Outcome]:
        self._placement.ensure(request.slots, self._is_cancelled, self._look)
        questions = {n: question(self._slot(n), request) for n in range(request.slots)}
        if len(questions) == 1:
            outcomes = [self._outcome(number, asked) for number, asked in questions.items()]
        else:
            outcomes = list(self._asking.map(self._outcome, questions, questions.values()))
        for outcome in outcomes:
            self._note(outcome)
        return outcomes

    def _outcome(self, number: int, question: RunStage | WarmUp) -> Outcome:
        """Ask one slot; an error is returned, because those of other slots may matter more."""
        endpoint = self._placement.endpoints.get(number)
        if endpoint is None:
            return Outcome(slot=number, error=_without_thread(number))
        threads, server = self._placement.threads, endpoint.server
        until = time.monotonic() + _LONGEST_S
        waiting = Waiting(
            load=lambda: self._packed, is_over=self._is_cancelled,
            is_awake=lambda: time.monotonic() < until and threads.is_awake(server),
        )  # fmt: skip
        try:
            reports = self._connections.ask(endpoint, question, waiting)
        except ThreadLostError as error:
            if not self._is_cancelled.is_set():
                threads.give_up(server)
            return Outcome(slot=number, error=error)
        except Exception as error:  # noqa: BLE001 - the driver decides what to do about it
            return Outcome(slot=number, error=error)
        return Outcome(slot=number, reports=tuple(reports or ()))

    def _note(self, outcome: Outcome) -> None:
        """Count threads that ended during a stage, because this application may be the reason.

        It is not known which of its applications has ended a shared thread. After two losses in a
        row, each of them continues in a thread of its own, where it cannot harm the others.
        """
        if not isinstance(outcome.error, ThreadLostError):
            self._losses.pop(outcome.slot, None)
            return
        self._losses[outcome.slot] += 1
        if self._shares and self._losses[outcome.slot] == _LOSSES:
            self._placement.seclude(outcome.slot)


def _without_thread(number: int) -> StreamsError:
    return StreamsError(
        "slot-unreachable",
        f"slot {number} has no stream thread right now",
        fix="nothing to do: the batch runs again when Spark has started one",
    )
