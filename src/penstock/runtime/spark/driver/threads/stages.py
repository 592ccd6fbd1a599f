"""Runs stages of one application: asks the stream thread of one slot, beside those of others."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.exchange.channel import ThreadLostError, Waiting
from penstock.runtime.spark.exchange.kept_connections import KeptConnections
from penstock.runtime.spark.exchange.questions import RunStage, SlotId, WarmUp
from penstock.runtime.spark.exchange.stage_request import Application, Report, StageRequest

#: After so many lost threads in a row, a slot gets a thread of its own.
_LOSSES = 2
#: How long one record may keep Python to itself, as Kafka's ``max.poll.interval.ms``.
_LONGEST_S = 300.0


class Stages:
    """Brings the stages of an application to its slots, and their reports back.

    Each slot is asked from a thread of its own.

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

    @property
    def pickled(self) -> bytes:
        """The application as it is sent to threads."""
        return self._packed

    def warm_up(self, slot: int, request: StageRequest) -> None:
        """Let a slot make its clients and restore its state."""
        self._asked(slot, WarmUp(self._slot(slot), request))

    def run(self, slot: int, request: StageRequest) -> list[Report]:
        """Run a stage in a slot, and return what it reports."""
        return self._asked(slot, RunStage(self._slot(slot), request)) or []

    def cancel(self) -> None:
        """Give up waiting for the stage that is under way, which has taken too long."""
        self._is_cancelled.set()

    def close(self) -> None:
        self._is_cancelled.set()
        self._connections.close()

    def _slot(self, number: int) -> SlotId:
        return SlotId(self._application.key, number)

    def _asked(self, slot: int, question: RunStage | WarmUp) -> Any:
        self._placement.ensure_one(slot, self._is_cancelled, self._look)
        endpoint = self._placement.endpoints.get(slot)
        if endpoint is None:
            raise _without_thread(slot)
        threads, server = self._placement.threads, endpoint.server
        until = time.monotonic() + _LONGEST_S
        waiting = Waiting(
            load=lambda: self._packed, is_over=self._is_cancelled,
            is_awake=lambda: time.monotonic() < until and threads.is_awake(server),
        )  # fmt: skip
        try:
            answer = self._connections.ask(endpoint, question, waiting)
        except ThreadLostError:
            if not self._is_cancelled.is_set():
                threads.give_up(server)
            self._note_loss(slot)
            raise
        self._losses.pop(slot, None)
        return answer

    def _note_loss(self, slot: int) -> None:
        """Count threads that ended during a stage, because this application may be the reason.

        It is not known which of its applications has ended a shared thread. After two losses in a
        row, each of them continues in a thread of its own, where it cannot harm the others.
        """
        self._losses[slot] += 1
        if self._shares and self._losses[slot] == _LOSSES:
            self._placement.seclude(slot)


def _without_thread(number: int) -> StreamsError:
    return StreamsError(
        "slot-unreachable",
        f"slot {number} has no stream thread right now",
        fix="nothing to do: the batch runs again when Spark has started one",
    )
