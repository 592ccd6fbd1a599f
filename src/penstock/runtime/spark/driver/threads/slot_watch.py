"""Asks all slots what they are doing: paused ones are noticed, and what takes long is named."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from penstock.errors import PenstockError
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.exchange.channel import SILENCE_S, ThreadLostError, Waiting, ask
from penstock.runtime.spark.exchange.doing import Doing
from penstock.runtime.spark.exchange.questions import AskDoing, SlotId
from penstock.runtime.spark.exchange.stage_request import Endpoint, StageRequest

log = logging.getLogger(__name__)

_LOOK_S = 5.0
_SILENCE_S = 3.0
#: A function that needs more time than this with one record is named.
_LONG_S = 10.0
#: The same for records that are processed together, over columns: a batch of a backlog may take ten
#: seconds.
_LONG_BATCH_S = 30.0
_THREADS = 8


class Shown(Protocol):
    """Where users see what slots are busy with."""

    busy_with: str | None


class SlotWatch:
    """A thread that asks every slot what it is doing, whatever the driver is doing itself.

    Args:
        key: the name of this run of the application.
        shown: has what slots have been busy with for long, or None when that is over.
    """

    def __init__(self, placement: Placement, key: str, shown: Shown) -> None:
        self._placement = placement
        self._key = key
        self._shown = shown
        self._closing = threading.Event()
        #: By slot: the stage that it runs, and since when.
        self._stages: dict[int, tuple[StageRequest, float]] = {}
        #: By slot: what it was doing at the last look, and since when.
        self._seen: dict[int, tuple[list[Doing] | None, float]] = {}
        #: By slot: what has been said about it.
        self._told: dict[int, str] = {}

    def start(self) -> None:
        """Begin to ask."""
        threading.Thread(target=self._run, name="penstock-slot-watch", daemon=True).start()

    def end(self) -> None:
        self._stages.clear()
        self._closing.set()

    @contextlib.contextmanager
    def over_stage(self, slot: int, request: StageRequest) -> Iterator[None]:
        """Look for records that take long in a slot inside the ``with`` block."""
        self._stages[slot] = request, time.monotonic()
        try:
            yield
        finally:
            self._stages.pop(slot, None)
            if self._told.pop(slot, None) is not None:
                self._say()

    def _run(self) -> None:
        with ThreadPoolExecutor(_THREADS, "penstock-slot-question") as pool:
            while not self._closing.wait(_LOOK_S):
                endpoints = list(self._placement.endpoints.items())
                stages = dict(self._stages)
                answers = list(pool.map(lambda each: self._asked(*each), endpoints))
                for (slot, _), answer in zip(endpoints, answers, strict=True):
                    stage = stages.get(slot)
                    text = self._noted(slot, answer, stage)
                    if text is None or stage is not self._stages.get(slot):
                        self._told.pop(slot, None)
                    else:
                        if slot not in self._told:
                            log.warning("%s", text)
                        self._told[slot] = text
                self._say()

    def _asked(self, slot: int, endpoint: Endpoint) -> list[Doing] | None:
        """Return what a slot is doing; None if its process is there, but does not answer."""
        question, waiting = AskDoing(SlotId(self._key, slot)), Waiting(silence_s=_SILENCE_S)
        try:
            found: list[Doing] = ask(endpoint, self._placement.threads.secret, question, waiting)
        except ThreadLostError as error:
            is_gone = isinstance(error.__cause__, ConnectionError | EOFError)
            return [] if is_gone else None
        except PenstockError as error:
            log.debug("slot %d: %s", slot, error)
            return []
        return found

    def _noted(
        self, slot: int, answer: list[Doing] | None, stage: tuple[StageRequest, float] | None
    ) -> str | None:
        """Compare with the last look; return what the slot has been busy with for long."""
        now = time.monotonic()
        before, since = self._seen.get(slot, ([], now))
        if answer == [] or not _is_same(before, answer):
            since = now
        if stage is not None:
            since = max(since, stage[1])
        elif answer is None and now - since > SILENCE_S and not self._is_awake(slot):
            # A stage is not waited for, so only this watch notices that the thread is paused.
            self._give_up(slot)
        self._seen[slot] = answer, since
        lasted_s = now - since
        is_batch = any(not each.step and each.record is None for each in answer or ())
        limit_s = _LONG_BATCH_S if is_batch else _LONG_S
        if answer == [] or stage is None or lasted_s < limit_s:
            return None
        what = "; ".join(each.text for each in answer or ())
        return f"slot {slot}, for {lasted_s:.0f} s: {what or _unanswered(stage[0], slot)}"

    def _is_awake(self, slot: int) -> bool:
        endpoint = self._placement.endpoints.get(slot)
        return endpoint is not None and self._placement.threads.is_awake(endpoint.server)

    def _give_up(self, slot: int) -> None:
        endpoint = self._placement.endpoints.get(slot)
        if endpoint is not None:
            self._placement.threads.give_up(endpoint.server)

    def _say(self) -> None:
        self._shown.busy_with = "; ".join(list(self._told.values())) or None


def _is_same(before: list[Doing] | None, answer: list[Doing] | None) -> bool:
    """Tell whether a slot is still with the same records; the line inside a function may differ."""
    if before is None or answer is None:
        return before is answer
    return [(each.task, each.record, each.step) for each in before] == [
        (each.task, each.record, each.step) for each in answer
    ]


def _unanswered(stage: StageRequest, slot: int) -> str:
    parts = [
        f"{topic!r} partition {number} offsets {start} to {end - 1}"
        for (topic, number), (start, end) in stage.ranges.items()
        if number % stage.slots == slot and start < end
    ]
    return (
        "its process does not answer: a function keeps Python to itself, or the machine is"
        f" overloaded; it has records of {', '.join(parts) or 'no topic'}"
    )
