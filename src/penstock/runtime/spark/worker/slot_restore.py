"""Bring the stores of all tasks of a slot to the committed state, with few questions to Kafka.

A slot may have many stores. Looked up and read one after the other, each would wait for the broker
by itself: twelve stores of five partitions took fourteen seconds, also with nothing to read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.stage_request import StageRequest
from penstock.runtime.spark.worker.clients import Clients
from penstock.runtime.spark.worker.reader import Reader
from penstock.runtime.spark.worker.restoration import replay_together
from penstock.runtime.spark.worker.task_state import TaskState, Watermarks


def restore_tasks(
    states: Sequence[TaskState],
    request: StageRequest,
    clocks: Mapping[TaskId, Clocks],
    clients: Clients,
    reader: Callable[[], Reader],
) -> None:
    """Make tasks ready whose stores are not, all of them together.

    A task with a long restore goes on with it in the background, and is ready later.

    Args:
        reader: returns the reader of the slot's restores.
    """
    new = [state for state in states if not (state.is_ready or state.is_restoring)]
    marks = marks_of(new, clients)
    found = [
        (state, state.prepare(request, clocks.get(state.task_id), marks, clients.restorer))
        for state in states
    ]
    replays = [(state.databases, each) for state, listed in found for each in listed]
    if replays:
        replay_together(replays, request.batch - 1, reader())
    for state, listed in found:
        if listed:
            state.restored()


def marks_of(states: Sequence[TaskState], clients: Clients) -> Watermarks:
    """Ask for the first and last offsets of all changelogs of tasks at once."""
    parts = {part: is_own for state in states for part, is_own in state.changelogs()}
    found = {
        part: marks
        for wanted in (True, False)
        for part, marks in clients.all_watermarks(
            [part for part, is_own in parts.items() if is_own is wanted], is_own=wanted
        ).items()
    }

    def marks_of_one(topic: str, partition: int, *, is_own: bool) -> tuple[int, int]:
        return found[topic, partition]

    return marks_of_one
