"""Questions about stores, answered by the slots of the application that this driver leads."""

from __future__ import annotations

import time
from typing import Any

from penstock.errors import PenstockError, StreamsError
from penstock.model.remedies import declared
from penstock.runtime.spark.driver.batch_runner import BatchRunner
from penstock.runtime.spark.exchange.channel import Waiting
from penstock.runtime.spark.exchange.questions import ReadStore, SlotId

#: How long to wait for a slot that is being started or restored.
_PATIENCE_S = 10.0


class SlotAnswers:
    """Asks the slot that has a partition; waits if the slot is being started again.

    Args:
        patience_s: how long to wait for such a slot; 0 does not wait.
        silence_s: after this time without a sign of life a slot counts as lost.
    """

    def __init__(
        self,
        runner: BatchRunner,
        *,
        patience_s: float = _PATIENCE_S,
        silence_s: float = _PATIENCE_S,
    ) -> None:
        self._runner = runner
        self._patience_s = patience_s
        self._silence_s = silence_s

    def query(self, store: str, partition: int, method: str, arguments: tuple[Any, ...]) -> Any:
        runner, slot = self._runner, partition % self._runner.used_slots
        asked = SlotId(runner.application.key, slot)
        question = ReadStore(asked, store, partition, method, arguments)
        waiting = Waiting(silence_s=self._silence_s)
        deadline = time.monotonic() + self._patience_s
        while True:
            endpoint = runner.placement.endpoints.get(slot)
            try:
                if endpoint is None:
                    raise _not_ready(slot, store)
                return runner.questions.ask(endpoint, question, waiting)
            except PenstockError as error:
                if not declared(error).is_momentary or time.monotonic() >= deadline:
                    raise
                time.sleep(0.1)


def _not_ready(slot: int, store: str) -> StreamsError:
    return StreamsError(
        "store-not-ready",
        f"slot {slot}, which holds a part of store {store!r}, is being started",
        fix="ask again in a moment",
    )
