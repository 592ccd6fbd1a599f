"""The driver's view of standbys: on which executors they are, and their lag."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark import SparkContext

from penstock.errors import StreamsError
from penstock.model.topic_partition import TopicPartition
from penstock.processor.listeners import StandbyUpdateListener, SuspendReason
from penstock.runtime.logs import is_fault
from penstock.runtime.spark.driver.executors.copy_places import CopyPlaces, Tags
from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId, executors_of
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.driver.threads.stream_threads import Seat
from penstock.runtime.spark.exchange.channel import Waiting, ask
from penstock.runtime.spark.exchange.questions import (
    AskStandby,
    StandBy,
    StandbyId,
    StandDown,
)
from penstock.runtime.spark.exchange.stage_request import Application, Endpoint
from penstock.runtime.spark.replica.replica import CopyLag

log = logging.getLogger(__name__)

_LOOK_S = 3.0
_ANSWER_S = 5.0
_CLOSE_S = 10.0


@dataclass(slots=True)
class _Copies:
    """One standby: the copies of a slot on one executor."""

    endpoint: Endpoint
    #: None until the copies have reached the newest batch once.
    lag: int | None = None
    positions: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)


class Standbys:
    """Keep copies of every slot on other executors, in a thread beside the batches.

    A copy is kept by a stream thread of its executor, beside the slots that run there.

    Args:
        pickled: the application as it is sent to threads.
        wanted: how many copies of each slot there should be.
        slots: returns the number of slots.
        executors: returns the executors that are there now.
        listed_tags: the tags of executors over which copies are spread, before hosts.
        most_extra: how many copies may move to a better place at the same time.
    """

    def __init__(
        self,
        application: Application,
        pickled: bytes,
        placement: Placement,
        wanted: int,
        slots: Callable[[], int],
        executors: Callable[[SparkContext], list[ExecutorId]] | None = None,
        *,
        listener: StandbyUpdateListener | None = None,
        listed_tags: Sequence[str] = (),
        most_extra: int = 2,
    ) -> None:
        self.listener = listener
        self._listed_tags = tuple(listed_tags)
        self._most_extra = most_extra
        self._application = application
        self._pickled = pickled
        self._threads = placement.threads
        self._context = self._threads.context
        self._placement = placement
        placement.make_way = self._make_way
        self._wanted = wanted
        self._slots = slots
        self._executors = executors or executors_of
        self._used_slots = slots()
        #: The executors at the last check.
        self._places = CopyPlaces(self._listed_tags)
        #: By slot: where a copy is warmed up, because the slot is to move there.
        self._warm_ups: dict[int, ExecutorId] = {}
        #: By slot: a copy that ends when another one, in a better place, has caught up.
        self._exchanges: dict[int, tuple[ExecutorId, ExecutorId]] = {}
        #: Why copies are not apart as wanted: at the last check, and in the last warning.
        self._shortage = self._told_shortage = ""
        self._copies: dict[tuple[int, ExecutorId], _Copies] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-standbys", daemon=True)
        self._thread.start()

    def lags(self) -> dict[int, int | None]:
        """Return for each slot that has a standby how many records the nearest one is behind."""
        found: dict[int, int | None] = {}
        for (slot, _), copies in list(self._copies.items()):
            known = [each for each in (found.get(slot), copies.lag) if each is not None]
            found[slot] = min(known, default=None)
        return found

    def is_warm(self, slot: int, most_lag: int) -> bool:
        """Tell whether a slot has a copy elsewhere that is at most so many records behind."""
        lag = self.lags().get(slot)
        return lag is not None and lag <= most_lag

    def warm_up(self, slot: int, most: int) -> None:
        """Keep an extra copy of a slot that is to move, unless there are so many already.

        The copy goes to the executor with the fewest slots. Among those, it goes where the slot's
        other copies are not.
        """
        if slot in self._warm_ups or len(self._warm_ups) >= most:
            return
        endpoints = self._placement.endpoints
        load = Counter(endpoint.executor for endpoint in endpoints.values())
        own = endpoints[slot].executor if slot in endpoints else None
        there = [each for each in self._executors(self._context) if each.name != own]
        if there:
            cost, copies = self._places.cost, self._copies_of(slot)
            self._warm_ups[slot] = min(
                there, key=lambda each: (load[each.name], cost([each, *copies]), each)
            )

    def close(self) -> None:
        """End all standbys."""
        self._closing.set()
        self._thread.join(_CLOSE_S)
        for slot, executor in list(self._copies):
            self._end(slot, executor, SuspendReason.MIGRATED)

    # In the thread

    def _run(self) -> None:
        while not self._closing.wait(_LOOK_S):
            try:
                self._look()
            except Exception as error:
                text = "standbys are not kept up right now: %s"
                log.warning(text, error, exc_info=is_fault(error))

    def _look(self) -> None:
        slots = self._slots()
        if slots != self._used_slots:
            for slot, executor in list(self._copies):
                self._end(slot, executor, SuspendReason.MIGRATED)
            self._used_slots = slots
        there = self._executors(self._context)
        self._ask(there)
        if self._wanted:
            for executor in there:
                if self._threads.on(executor) is None:
                    self._threads.add(executor)
        tags = self._tags_of(there)
        places = self._places = CopyPlaces(self._listed_tags, tags)
        known = [each for each in there if each.name in tags]
        for slot in range(slots):
            self._keep(slot, slots, there, known, places)
        self._hint()
        self._warn(slots, there, places)

    def _ask(self, there: list[ExecutorId]) -> None:
        """Ask every standby for its lag; forget those that have ended or are not needed."""
        for (slot, executor), copies in list(self._copies.items()):
            owner = self._placement.endpoints.get(slot)
            if owner is not None and owner.executor == executor.name:
                # The slot has moved to its standby's executor and uses the standby's folders.
                self._forget(slot, executor, SuspendReason.PROMOTED)
                continue
            if executor not in there:
                self._forget(slot, executor, SuspendReason.MIGRATED)
                continue
            question = AskStandby(self._standby(slot))
            try:
                is_current, lags = self._asked(copies.endpoint, question)
            except StreamsError as error:
                log.warning("the standby of slot %d is gone: %s", slot, error.message)
                self._forget(slot, executor, SuspendReason.MIGRATED)
                continue
            copies.lag = sum(each.lag for each in lags) if is_current else None
            self._tell(copies, lags)

    def _keep(
        self,
        slot: int,
        slots: int,
        there: list[ExecutorId],
        known: list[ExecutorId],
        places: CopyPlaces,
    ) -> None:
        """Start the missing copies of a slot, and move copies that are in a bad place.

        Args:
            known: the executors whose tags are known, which may get copies.
        """
        owner = self._owner(slot)
        if owner is None:
            return
        have = self._copies_of(slot)
        target = self._warm_ups.get(slot)
        if target is not None and (target not in there or target.name == owner.name):
            # The slot has arrived, or the executor is gone.
            target = None
            del self._warm_ups[slot]
        if target is not None and target not in have:
            self._start(slot, slots, target)
        if owner.name not in places.tags:
            # A copy that is started before the owner's tags are known might have to move.
            return
        load = Counter(executor for _, executor in self._copies)
        for executor in places.new_copies(owner, known, have, load, self._wanted):
            if self._closing.is_set():
                return
            self._start(slot, slots, executor)
        if target is None and len(have) >= self._wanted:
            self._exchange(slot, slots, places.better_copy(owner, known, have, load))

    def _exchange(
        self, slot: int, slots: int, better: tuple[ExecutorId, ExecutorId] | None
    ) -> None:
        """Start a copy in a better place; the old one ends when the new one has caught up."""
        have = self._copies_of(slot)
        under_way = self._exchanges.get(slot)
        if under_way is not None:
            old, new = under_way
            copies = self._copies.get((slot, new))
            if copies is None or old not in have:
                # The slot has moved, or an executor is lost: missing copies are started again.
                del self._exchanges[slot]
            elif copies.lag is not None:
                del self._exchanges[slot]
                log.info("the copy of slot %d moves from %s to %s", slot, old.host, new.host)
                self._end(slot, old, SuspendReason.MIGRATED)
            return
        is_surplus = len(have) > self._wanted
        if better is None or is_surplus or len(self._exchanges) >= self._most_extra:
            return
        self._start(slot, slots, better[1])
        if (slot, better[1]) in self._copies:
            self._exchanges[slot] = better

    def _owner(self, slot: int) -> ExecutorId | None:
        endpoint = self._placement.endpoints.get(slot)
        return None if endpoint is None else ExecutorId(endpoint.host, endpoint.executor)

    def _copies_of(self, slot: int) -> list[ExecutorId]:
        return [executor for number, executor in self._copies if number == slot]

    def _warn(self, slots: int, there: list[ExecutorId], places: CopyPlaces) -> None:
        """Warn once that copies are not kept apart, if two checks in a row have found the same."""
        found = {
            places.shortage(owner, there, self._copies_of(slot), self._wanted)
            for slot in range(slots)
            if (owner := self._owner(slot)) is not None and owner.name in places.tags
        }
        before, self._shortage = self._shortage, "; ".join(sorted(found - {""}))
        is_settled = self._shortage == before and not self._exchanges
        if is_settled and self._shortage != self._told_shortage:
            self._told_shortage = self._shortage
            if self._shortage:
                log.warning("copies of slots are not kept apart as wanted: %s", self._shortage)

    def _start(self, slot: int, slots: int, executor: ExecutorId) -> None:
        endpoint = self._threads.on(executor)
        if endpoint is None:
            # The next check finds the new thread.
            self._threads.add(executor)
            return
        self._asked(endpoint, StandBy(self._standby(slot), slots))
        log.info("executor %s at %s keeps copies of slot %d", executor.name, executor.host, slot)
        self._threads.seat(self._seat(slot, endpoint), endpoint)
        self._copies[slot, executor] = _Copies(endpoint)

    def _asked(self, endpoint: Endpoint, question: AskStandby | StandBy | StandDown) -> Any:
        waiting = Waiting(silence_s=_ANSWER_S, load=lambda: self._pickled)
        return ask(endpoint, self._threads.secret, question, waiting)

    def _standby(self, slot: int) -> StandbyId:
        return StandbyId(self._application.id, slot)

    def _seat(self, slot: int, endpoint: Endpoint) -> Seat:
        return Seat(self._application.id, slot, endpoint.server)

    def _tags_of(self, there: Sequence[ExecutorId]) -> dict[str, Tags]:
        """Return the tags of executors by name; only their threads know them."""
        if not self._listed_tags:
            return {each.name: {} for each in there}
        known = self._threads.tags()
        return {each.name: known[each.name] for each in there if each.name in known}

    def _make_way(self, slot: int, endpoint: Endpoint) -> None:
        """End a copy of a slot that starts on the same host, in another process."""
        for (number, executor), copies in list(self._copies.items()):
            is_other = copies.endpoint.server != endpoint.server
            if number == slot and executor.host == endpoint.host and is_other:
                self._end(slot, executor, SuspendReason.PROMOTED)

    def _hint(self) -> None:
        """Set where each slot starts if its executor is lost: at its copy with the smallest lag."""
        best: dict[int, _Copies] = {}
        for (slot, _), copies in self._copies.items():
            if copies.lag is None:
                continue
            known = best.get(slot)
            if known is None or known.lag is None or copies.lag < known.lag:
                best[slot] = copies
        self._placement.standbys = {slot: copies.endpoint for slot, copies in best.items()}

    def _end(self, slot: int, executor: ExecutorId, reason: SuspendReason) -> None:
        copies = self._copies.get((slot, executor))
        if copies is None:
            return
        self._forget(slot, executor, reason)
        try:
            self._asked(copies.endpoint, StandDown(self._standby(slot)))
        except StreamsError as error:
            log.debug("the standby of slot %d is gone already: %s", slot, error.message)

    def _forget(self, slot: int, executor: ExecutorId, reason: SuspendReason) -> None:
        copies = self._copies.pop((slot, executor), None)
        if copies is None:
            # The slot has started on the copy's host meanwhile.
            return
        self._threads.vacate([self._seat(slot, copies.endpoint)])
        self._placement.standbys.pop(slot, None)
        listener = self.listener
        if listener is not None:
            for (store, part), position in copies.positions.items():
                listener.on_update_suspended(part, store, position, position, reason)

    def _tell(self, copies: _Copies, lags: list[CopyLag]) -> None:
        """Call the listener as Kafka Streams does: at the start, and after each step."""
        listener = self.listener
        for each in lags:
            part = (each.topic, each.task.partition)
            before = copies.positions.get((each.store, part))
            copies.positions[each.store, part] = each.position
            if listener is None:
                continue
            if before is None:
                listener.on_update_start(part, each.store, each.position)
            elif each.position > before:
                listener.on_batch_loaded(
                    part, each.store, each.task, each.position, each.position - before, each.end
                )
