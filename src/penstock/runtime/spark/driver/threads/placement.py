"""Says which stream thread has each slot of one application, and finds one for a slot without."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from penstock.runtime.spark.driver.executors.spark_executors import (
    ExecutorId,
    executors_of,
    is_local,
    leaving_executors,
)
from penstock.runtime.spark.driver.threads.assignment import assign, place_of, to_balance
from penstock.runtime.spark.driver.threads.stream_threads import Seat, StreamThreads
from penstock.runtime.spark.exchange.stage_request import Endpoint

log = logging.getLogger(__name__)

_LOOK_S = 5.0
_MOVE_S = 30.0


class Placement:
    """Keeps each slot on its stream thread as long as that lives: its state is there."""

    def __init__(
        self, threads: StreamThreads, application_id: str, *, shares: bool = False
    ) -> None:
        self.threads = threads
        #: Whether other applications have slots in the same threads.
        self.shares = shares
        self._application_id = application_id
        self.endpoints: dict[int, Endpoint] = {}
        #: By slot: the thread that ran it last, even if that thread has ended. An earlier thread of
        #: the slot may still run, with outdated state.
        self._owners: dict[int, str] = {}
        #: By slot: the executor where it ran last.
        self._former: dict[int, ExecutorId] = {}
        #: By slot: the thread to which it moves next.
        self._targets: dict[int, Endpoint] = {}
        #: For each slot that has a standby: the nearest one. The slot starts there if it is lost.
        self.standbys: dict[int, Endpoint] = {}
        #: Called before a slot starts in a thread, so that a copy there makes way.
        self.make_way: Callable[[int, Endpoint], None] | None = None
        #: How many times a slot has moved to another thread.
        self.moves = 0
        self._looked = self._moved = time.monotonic()
        #: Held while a thread is chosen for a slot.
        self._placing = threading.Lock()

    def start(self, slots: int) -> None:
        """Let Spark start stream threads; they come up one by one."""
        self.threads.start(self._application_id, slots)

    def ensure(self, slots: int, is_over: threading.Event, look: Callable[[], None]) -> None:
        """Find a thread for every slot that has none; wait for threads if there are too few.

        Args:
            look: called twice a second while it waits.

        Raises:
            PenstockError: Spark cannot run stream threads, and why.
        """
        for number in range(slots):
            self.ensure_one(number, is_over, look)

    def ensure_one(self, slot: int, is_over: threading.Event, look: Callable[[], None]) -> None:
        """Find a thread for a slot that has none; other slots do not wait for that."""
        if self._is_placed(slot):
            return
        if not self._has_target(slot):
            self.threads.wait_for(self._seat(slot), is_over, look)
        if is_over.is_set():
            return
        with self._placing:
            self._place(slot)

    def _has_target(self, slot: int) -> bool:
        target = self._targets.get(slot)
        return target is not None and self.threads.is_living(target)

    def _is_placed(self, slot: int) -> bool:
        endpoint = self.endpoints.get(slot)
        return endpoint is not None and self.threads.is_living(endpoint)

    def _place(self, slot: int) -> None:
        seat = self._seat(slot)
        candidates = self.threads.candidates(seat)
        target = self._targets.pop(slot, None)
        if target is not None and target in candidates:
            chosen = target
        elif candidates:
            near = {slot: self._near(slot)}
            chosen = assign([slot], candidates, self.threads.load(), near)[slot]
        else:
            # It has ended since; the stage finds no thread and runs again.
            self.forget([slot])
            return
        before = self._owners.get(slot)
        if before is not None and before != chosen.server:
            self.moves += 1
            log.info("slot %d moves to a stream thread at %s", slot, chosen.host)
        if self.make_way is not None:
            self.make_way(slot, chosen)
        self.endpoints[slot] = chosen
        self._owners[slot] = chosen.server
        self._former[slot] = place_of(chosen)
        self.threads.seat(seat, chosen)

    def _near(self, slot: int) -> list[ExecutorId]:
        standby, former = self.standbys.get(slot), self._former.get(slot)
        near = [] if standby is None else [place_of(standby)]
        return near if former is None else [*near, former]

    def _seat(self, slot: int) -> Seat:
        return Seat(self._application_id, slot)

    def owners(self) -> dict[int, str]:
        """Return the thread that ran each slot last."""
        return dict(self._owners)

    def forget(self, slots: Iterable[int]) -> None:
        """Note that slots have no thread any more."""
        gone = list(slots)
        for slot in gone:
            self.endpoints.pop(slot, None)
        self.threads.vacate(self._seat(slot) for slot in gone)

    def forget_lost(self) -> list[int]:
        """Forget the slots whose threads have ended, and return them."""
        known = list(self.endpoints.items())
        lost = [n for n, each in known if not self.threads.is_living(each)]
        self.forget(lost)
        return lost

    def seclude(self, slot: int) -> None:
        """Give a slot a thread of its own from the next stage on."""
        self.forget([slot])
        self.threads.seclude(self._seat(slot))

    def resize(self, slots: int, is_over: threading.Event, look: Callable[[], None]) -> None:
        """Have as many threads as slots from now on; threads of a pool stay as they are."""
        if not self.shares:
            self.threads.shrink(slots)
            self.threads.start(self._application_id, slots)
        self.ensure(slots, is_over, look)
        if not self.shares:
            self.threads.end_idle()

    # Moving

    def to_move(self, slots: int) -> tuple[int, Endpoint] | None:
        """Return a slot that should go to another thread, and to which; None if all is well."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S or slots != len(self.endpoints):
            return None
        self._looked = now
        threads = self.threads.candidates(self._seat(0))
        context = self.threads.context
        leaving: frozenset[str] = frozenset()
        if not is_local(context.getConf().get("spark.master")):
            leaving = leaving_executors(context, {each.executor for each in threads})
            self._populate(leaving)
            self.threads.retire(leaving)
        if not leaving and now - self._moved < _MOVE_S:
            return None
        return to_balance(self.endpoints, threads, self.threads.load(), leaving)

    def has_leaving(self) -> bool:
        """Tell whether Spark decommissions an executor on which a slot runs."""
        context = self.threads.context
        if is_local(context.getConf().get("spark.master")):
            return False
        names = {each.executor for each in self.endpoints.values()}
        return bool(leaving_executors(context, names))

    def _populate(self, leaving: frozenset[str]) -> None:
        """Start a thread on an executor that has none, while another one has two slots more."""
        load: dict[ExecutorId, int] = {}
        for each in self.endpoints.values():
            load[place_of(each)] = load.get(place_of(each), 0) + 1
        if max(load.values(), default=0) < 2 and not any(each.name in leaving for each in load):
            return
        for executor in executors_of(self.threads.context):
            if self.threads.on(executor) is None:
                self.threads.add(executor)

    def begin_move(self, slot: int, target: Endpoint) -> None:
        """Note where a slot that was released is to start again."""
        self._moved = time.monotonic()
        self._targets[slot] = target
