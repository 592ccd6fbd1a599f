"""A pool of slot servers, which applications of this process share, and its beat."""

from __future__ import annotations

import logging
import threading
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark import SparkContext

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.placement import Placement
from penstock.runtime.spark.driver.pool.beat import Beat, Results, Told
from penstock.runtime.spark.driver.pool.shared_offsets import SharedOffsets
from penstock.runtime.spark.exchange.stage_request import Outcome
from penstock.runtime.spark.exchange.ticket import PlaceOutcome, Ticket
from penstock.runtime.spark.exchange.worker_lines import show_lines
from penstock.runtime.spark.worker.pool_task import PoolTask

log = logging.getLogger(__name__)

#: How long a beat waits for its slots. A small batch takes less. For a longer one, its own
#: application waits.
_PATIENCE_S = 0.25
#: The name of the scheduler pool: with FAIR scheduling, long jobs of the user leave it cores.
_SCHEDULER_POOL = "penstock"

_Slot = tuple[str, int]


class SlotPool:
    """As many slot servers as Spark has cores, each with slots of several applications.

    A *place* is a server, or the server that replaces it when it is lost. A slot keeps its place as
    long as its application runs.
    """

    def __init__(self, context: SparkContext, name: str, secret: bytes) -> None:
        self.context = context
        #: Servers are found by this name. Another driver on the same host has another one.
        self.name = f"{name}-{uuid.uuid4().hex}"
        self.secret = secret
        self.offsets = SharedOffsets()
        self.beat = Beat(self._job)
        self._placement = Placement(context)
        self._lock = threading.Lock()
        self._places: dict[_Slot, int] = {}
        #: The places that slots share; all others belong to one slot each.
        self._shared: list[int] = []
        self._count = 0

    def place_of(self, application_id: str, number: int) -> int:
        """Return the place of a slot; a new slot gets the one with the fewest slots."""
        with self._lock:
            slot = application_id, number
            if slot not in self._places:
                self._grow()
                load = Counter(self._places.values())
                own = {at for (other, _), at in self._places.items() if other == application_id}
                self._places[slot] = min(self._shared, key=lambda at: (at in own, load[at], at))
            return self._places[slot]

    def seclude(self, application_id: str, number: int) -> None:
        """Move a slot to a server of its own, after its shared servers have ended repeatedly."""
        with self._lock:
            log.warning("slot %d of %s gets a process of its own", number, application_id)
            self._places[application_id, number] = self._count
            self._count += 1

    def _grow(self) -> None:
        """Add places for the cores of new executors."""
        while len(self._shared) < max(self.context.defaultParallelism, 1):
            self._shared.append(self._count)
            self._count += 1

    def release(self, application_id: str) -> None:
        """Forget where the slots of an application are; its servers end with their last slot."""
        with self._lock:
            for slot in [slot for slot in self._places if slot[0] == application_id]:
                del self._places[slot]

    @property
    def is_usable(self) -> bool:
        """Whether its Spark context has not been stopped."""
        java: Any = self.context._jsc
        try:
            return java is not None and not java.sc().isStopped()
        except Exception as error:  # noqa: BLE001 - the JVM is gone
            log.debug("the Spark context of pool %s is gone: %s", self.name, error)
            return False

    def _job(self, tickets: Sequence[Ticket], title: str) -> Results:
        """Run one Spark job with a task for each place that has tickets."""
        by_place: dict[int, tuple[Ticket, ...]] = {}
        for ticket in tickets:
            by_place[ticket.place] = (*by_place.get(ticket.place, ()), ticket)
        with self._lock:
            servers = {p: e for p, e in self._placement.endpoints.items() if p in by_place}
            places = self._placement.places(self._count)
        task = PoolTask(
            pool=self.name, secret=self.secret, servers=servers, tickets=by_place,
            patience_s=_PATIENCE_S,
        )  # fmt: skip
        self.context.setLocalProperty("spark.scheduler.pool", _SCHEDULER_POOL)
        self.context.setJobGroup(f"penstock-pool-{self.name}", title)
        outcomes: list[PlaceOutcome] = self.context.runJob(places, task, sorted(by_place))
        with self._lock:
            self._placement.note(
                Outcome(slot=each.place, endpoint=each.endpoint) for each in outcomes
            )
        show_lines(line for each in outcomes for line in each.lines)
        return _results(tickets, outcomes)


def _results(tickets: Iterable[Ticket], outcomes: Iterable[PlaceOutcome]) -> Results:
    by_place = {outcome.place: outcome for outcome in outcomes}
    found: dict[str, Told | BaseException] = {}
    for ticket in tickets:
        outcome = by_place.get(ticket.place)
        answers = {} if outcome is None else dict(outcome.answers)
        if outcome is not None and outcome.endpoint is not None and ticket.id in answers:
            found[ticket.id] = Told(outcome.endpoint, answers[ticket.id])
        else:
            error = None if outcome is None else outcome.error
            found[ticket.id] = error or _unanswered(ticket)
    return found


def _unanswered(ticket: Ticket) -> StreamsError:
    return StreamsError(
        "worker-lost",
        f"no server has answered for place {ticket.place} of the pool",
        fix="nothing of the batch was lost: it runs again; look for lost executors",
    )


_POOLS: dict[str, SlotPool] = {}
_POOLS_LOCK = threading.Lock()


def slot_pool(context: SparkContext, name: str, secret: bytes) -> SlotPool:
    """Return the pool of this name in this process; a stopped Spark context has ended its pools."""
    with _POOLS_LOCK:
        for old in [key for key, pool in _POOLS.items() if not pool.is_usable]:
            ended = _POOLS.pop(old)
            ended.beat.close()
        if name not in _POOLS:
            _POOLS[name] = SlotPool(context, name, secret)
        return _POOLS[name]
