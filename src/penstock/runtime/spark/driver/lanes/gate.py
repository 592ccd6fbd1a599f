"""Lets lanes begin batches: each when it likes, or none while all must be between two batches."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

#: The longest wait before the lanes look again whether they are due.
_LOOK_S = 1.0
#: How long the gate stays open at least, once it has been closed.
_OPEN_S = 0.02
#: A lane waits at least so long for others that are in an earlier stage.
_PATIENCE_S = 0.25


class Turn(Enum):
    """What a lane may do now."""

    #: Read whatever there is.
    ANY = "any"
    #: Process only what is on its way in repartition topics.
    DRAIN = "drain"


@dataclass(slots=True)
class _Activity:
    """A lane inside a batch: the stage where it is, and since when."""

    stage: int
    since: float


class Gate:
    """Knows which lanes are inside a batch.

    Lanes of a topology with one stage do not wait for each other. If sub-topologies write to each
    other, lanes go through the stages together as long as all is well: what comes out of a batch
    then contains all of its input, in order of time. They wait only a moment for each other. While
    the gate is closed, lanes end what they have begun, and begin nothing.

    ``changed`` is the lock of everything that lanes share.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self._active: dict[int, _Activity] = {}
        self._is_closed = self._drains = self._finishes = self._is_over = False
        #: When the gate was opened last.
        self._opened = 0.0
        #: Held by the one who has closed the gate.
        self._closer = threading.Lock()
        #: Lanes that begin nothing, because their slots move.
        self._parked: set[int] = set()
        #: Tells whether records are on their way between lanes that can process them.
        self.has_leftover: Callable[[], bool] = lambda: False
        #: Tells whether a lane besides this one has something to process before this stage.
        self.is_awaited: Callable[[int, int], bool] = lambda lane, stage: False

    # For lanes

    def wait_turn(self, lane: int, due_s: Callable[[Turn], float | None]) -> Turn | None:
        """Wait until a lane is due and may begin; None when there are no more turns.

        Args:
            due_s: returns in how many seconds the lane has something to do; None if never again.
        """
        with self.changed:
            while not self._is_over:
                turn = self._turn(lane)
                left_s = due_s(turn or Turn.DRAIN)
                if left_s is None:
                    return None
                if turn is Turn.ANY and left_s <= 0 and (round_s := self._round_s(lane)) > 0:
                    # The others have begun without it: what they have sent to it is part of theirs.
                    is_awaited = due_s(Turn.DRAIN) == 0
                    turn, left_s = (Turn.DRAIN, 0.0) if is_awaited else (turn, round_s)
                if turn is not None and left_s <= 0:
                    self._active[lane] = _Activity(0, time.monotonic())
                    return turn
                self.changed.wait(_LOOK_S if turn is None else min(left_s, _LOOK_S))
        return None

    def _round_s(self, lane: int) -> float:
        """Return how long a lane waits for others that are further in their stages."""
        now = time.monotonic()
        left_s = [
            each.since + _PATIENCE_S - now
            for number, each in self._active.items()
            if number != lane and each.stage > 0
        ]
        return max(left_s, default=0.0)

    def _turn(self, lane: int) -> Turn | None:
        if lane in self._parked:
            return None
        if self._is_closed and not self._drains:
            return None
        return Turn.DRAIN if self._is_closed or self._finishes else Turn.ANY

    def end_turn(self, lane: int) -> None:
        with self.changed:
            self._active.pop(lane, None)
            self.changed.notify_all()

    def enter(self, lane: int, stage: int, took_s: float) -> None:
        """Begin a stage; wait a moment for lanes that are in an earlier one.

        A lane that has been there for longer than the others need is not waited for.

        Args:
            took_s: how long this lane took for the stage before.
        """
        patience_s = max(_PATIENCE_S, took_s / 2)
        with self.changed:
            began = time.monotonic()
            self._active[lane] = _Activity(stage, began)
            self.changed.notify_all()
            while not self._is_over:
                now = time.monotonic()
                left_s = [
                    each.since + patience_s - now
                    for number, each in self._active.items()
                    if number != lane and each.stage < stage
                ]
                if stage and self.is_awaited(lane, stage):
                    # It begins at once, but it may not have woken up yet.
                    left_s.append(began + patience_s - now)
                if not left_s or max(left_s) <= 0:
                    break
                self.changed.wait(max(left_s))
            # The wait is over, and the stage begins.
            self._active[lane] = _Activity(stage, time.monotonic())

    # For all others

    @property
    def is_quiet(self) -> bool:
        """Whether no lane is inside a batch."""
        return not self._active

    def notify(self) -> None:
        with self.changed:
            self.changed.notify_all()

    @contextlib.contextmanager
    def closed(self, timeout_s: float, *, drains: bool) -> Iterator[bool]:
        """Let lanes begin nothing inside the ``with`` block; yield whether all are quiet in time.

        Args:
            drains: also wait until nothing is on its way between the lanes.
        """
        deadline = time.monotonic() + timeout_s
        if not self._closer.acquire(timeout=max(timeout_s, 0.0)):
            yield False
            return
        try:
            # Whoever takes one cut after the other must not keep the lanes from their work.
            time.sleep(min(max(self._opened + _OPEN_S - time.monotonic(), 0.0), _OPEN_S))
            with self.changed:
                self._is_closed, self._drains = True, drains
                self.changed.notify_all()
                is_quiet = self.changed.wait_for(
                    lambda: self._is_over or self._is_still(drains=drains),
                    max(deadline - time.monotonic(), 0.0),
                )
                self._drains = False
            yield is_quiet and not self._active
        finally:
            with self.changed:
                self._is_closed = self._drains = False
                self._opened = time.monotonic()
                self.changed.notify_all()
            self._closer.release()

    def _is_still(self, *, drains: bool) -> bool:
        return not self._active and not (drains and self.has_leftover())

    @contextlib.contextmanager
    def parked(self, lane: int, timeout_s: float) -> Iterator[bool]:
        """Let one lane begin nothing inside the block; yield whether it is idle in time."""
        with self.changed:
            self._parked.add(lane)
            is_idle = self.changed.wait_for(lambda: lane not in self._active, timeout_s)
        try:
            yield is_idle
        finally:
            with self.changed:
                self._parked.discard(lane)
                self.changed.notify_all()

    def finish(self, timeout_s: float) -> bool:
        """Let lanes only end what they have begun, for good; return whether all have in time."""
        with self.changed:
            is_held = self._is_closed and not self._active
            self._finishes = True
            self.changed.notify_all()
            return is_held or self.changed.wait_for(
                lambda: self._is_over or self._is_still(drains=True), timeout_s
            )

    def end(self) -> None:
        """Let no lane begin any more."""
        with self.changed:
            self._is_over = True
            self.changed.notify_all()
