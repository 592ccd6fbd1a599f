"""When an application is idle: everything is read, and everything that was read is in its stores.

Exercises ``driver.observing.idle``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kafka.errors import KafkaRequestError
from penstock.runtime.spark.driver.observing.idle import is_idle


class Running:
    """An application that reads its last record at a moment that a test chooses."""

    has_run, is_waiting = True, False

    def __init__(self, reads_at: str) -> None:
        self.runner = self
        self._reads_at = reads_at
        self._is_read = self._is_in_a_cut = False

    def _at(self, moment: str) -> None:
        if moment == self._reads_at:
            self._is_read = True

    def has_leftover(self) -> bool:
        found = self._is_read and not self._is_in_a_cut
        self._at("leftover")
        return found

    def lag(self) -> dict[tuple[str, int], int]:
        self._at("lag")
        return {("words", 0): 0 if self._is_read else 1}

    def take_cut(self) -> None:
        self._is_in_a_cut = True


@pytest.mark.parametrize("moment", ["leftover", "lag"])
def test_a_batch_that_ends_between_two_questions_is_noticed(moment: str) -> None:
    """Answers of stores come from the newest cut, which this batch is not in yet."""
    run: Any = Running(moment)
    assert not is_idle(run, is_paused=False)
    assert not is_idle(run, is_paused=False)
    run.take_cut()
    assert is_idle(run, is_paused=False)


def test_nobody_knows_while_kafka_is_away() -> None:
    class Away(Running):
        def lag(self) -> dict[tuple[str, int], int]:
            raise KafkaRequestError("broker-away", "no answer")

    assert not is_idle(Away("lag"), is_paused=False)  # type: ignore[arg-type]
    assert not is_idle(None, is_paused=False)
