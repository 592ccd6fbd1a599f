"""Where the input partitions end: one question to Kafka for all lanes, and none waits for others.

A partition without a leader would hold up the question for all of them. It is left out then, and
asked for alone until it answers again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future, wait

from penstock.errors import PenstockError, StreamsError
from penstock.model.remedies import Remedy, remedy
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.background import begun
from penstock.runtime.spark.driver.failures import explained
from penstock.runtime.spark.driver.threads.shared_offsets import Offsets

log = logging.getLogger(__name__)

_Ends = Mapping[TopicPartition, int]
#: How long all partitions together, or each one alone, may take to answer.
_LATE_S = 1.5
#: How long a lane waits for new ends before it goes on with those that it knows.
_PATIENCE_S = 0.5
#: The pause before a partition that has not answered is asked again.
_PAUSE_S = 1.0


class EndsWatch:
    """Asks for the ends of all input partitions whenever a lane wants them.

    Lanes that ask at the same time share one question.

    Args:
        committed: whether records of open transactions are left out.
    """

    def __init__(
        self, offsets: Offsets, parts: Collection[TopicPartition], *, committed: bool
    ) -> None:
        self._offsets = offsets
        self._parts = frozenset(parts)
        self._committed = committed
        self._changed = threading.Condition()
        self._ends: dict[TopicPartition, int] = {}
        self._error: PenstockError | None = None
        self._wanted = self._begun = self._done = 0
        self._is_over = False
        #: Partitions that do not answer, each with the question that is under way.
        self._away: dict[TopicPartition, tuple[float, Future[_Ends]]] = {}
        self._thread: threading.Thread | None = None

    @property
    def away(self) -> frozenset[TopicPartition]:
        """The partitions that do not answer, while others do."""
        return frozenset(self._away)

    def fresh(self) -> dict[TopicPartition, int]:
        """Return the ends as of a question that begins after this call.

        If the answer is late, the ends of the last one are returned. Partitions that do not answer
        are left out.

        Raises:
            PenstockError: no partition answers.
        """
        with self._changed:
            target = self._begun + 1
            self._wanted = max(self._wanted, target)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="penstock-ends", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._done >= target or self._is_over, _PATIENCE_S)
            if self._error is not None:
                raise self._error
            away = self._away
            return {part: end for part, end in self._ends.items() if part not in away}

    def behind(self, positions: _Ends) -> int | None:
        """Return how many records are left to the ends that are known; None if none is."""
        with self._changed:
            known = [
                (end, positions[part]) for part, end in self._ends.items() if part in positions
            ]
        return sum(max(end - at, 0) for end, at in known) if known else None

    def close(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted > self._begun or self._is_over)
                if self._is_over:
                    return
                self._begun += 1
                number = self._begun
            found, error = self._asked()
            with self._changed:
                self._ends.update(found)
                self._error = error
                self._done = number
                self._changed.notify_all()

    def _asked(self) -> tuple[_Ends, PenstockError | None]:
        back = self._back()
        parts = self._parts - self._away.keys()
        if not parts:
            return back, None if self._ends or not self._parts else _silent(self._parts)
        question = begun(lambda: self._ask(parts), "penstock-ends-all")
        found = _result(question, _LATE_S)
        if isinstance(found, Mapping):
            return {**back, **found}, None
        failure = None if found is None else explained(found)
        if failure is not None and remedy(failure) is not Remedy.RERUN:
            return back, failure
        return self._one_by_one(parts, failure)

    def _one_by_one(
        self, parts: frozenset[TopicPartition], failure: PenstockError | None
    ) -> tuple[_Ends, PenstockError | None]:
        """Ask each partition alone; those that do not answer are away."""
        alone = {part: self._begun_alone(part) for part in sorted(parts)}
        wait(alone.values(), _LATE_S)
        ends: dict[TopicPartition, int] = {}
        silent: dict[TopicPartition, Future[_Ends]] = {}
        for part, question in alone.items():
            answer = _result(question, 0.0)
            if isinstance(answer, Mapping):
                ends.update(answer)
            else:
                silent[part] = question
                failure = failure or (None if answer is None else explained(answer))
        if not ends:
            # It is not these partitions: Kafka cannot be reached, or refuses the application.
            return ends, failure or _silent(parts)
        now = time.monotonic()
        for part, question in silent.items():
            log.warning("topic %r partition %d does not answer: the others go on", *part)
            self._away[part] = now, question
        return ends, None

    def _back(self) -> dict[TopicPartition, int]:
        """Return the ends of partitions that answer again, and ask the others once more."""
        found: dict[TopicPartition, int] = {}
        for part, (since, question) in list(self._away.items()):
            if not question.done():
                continue
            answer = _result(question, 0.0)
            if isinstance(answer, Mapping):
                log.info("topic %r partition %d answers again", *part)
                del self._away[part]
                found.update(answer)
            elif time.monotonic() - since > _PAUSE_S:
                again = self._begun_alone(part)
                self._away[part] = time.monotonic(), again
        return found

    def _begun_alone(self, part: TopicPartition) -> Future[_Ends]:
        return begun(lambda: self._ask(frozenset((part,))), "penstock-ends-one")

    def _ask(self, parts: frozenset[TopicPartition]) -> _Ends:
        return self._offsets.end_offsets(parts, committed=self._committed)


def _result(question: Future[_Ends], seconds: float) -> _Ends | Exception | None:
    """Return the answer or the error of a question; None if there is none in time."""
    wait([question], seconds)
    if not question.done():
        return None
    error = question.exception()
    if error is None:
        return question.result()
    return error if isinstance(error, Exception) else RuntimeError(repr(error))


def _silent(parts: Collection[TopicPartition]) -> PenstockError:
    topics = ", ".join(sorted({repr(topic) for topic, _ in parts}))
    return StreamsError(
        "broker-away",
        f"Kafka does not say where the partitions of {topics} end",
        fix="check that the brokers are up; the application goes on when they answer",
    )
