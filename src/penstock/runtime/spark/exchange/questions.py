"""What the driver and the stream threads say to each other: plain values in closed unions.

A *question* goes from the driver to a thread, over a connection that the driver has opened, and has
one answer. The *line of a thread* is the one connection that the thread opens: it tells the driver
who is there, and its end tells that the thread is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.runtime.spark.exchange.stage_request import Endpoint, Release, StageRequest
from penstock.runtime.spark.exchange.work import Work
from penstock.runtime.spark.exchange.worker_lines import Line
from penstock.serving.journey.values import RecordWatch


class SlotId(NamedTuple):
    """A slot of one run of an application: ``Application.key`` and the slot's number."""

    run: str
    number: int


# Questions


@dataclass(frozen=True, slots=True)
class Ping:
    """Asks for a sign of life; the answer is the thread's endpoint."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Makes a slot ready for a stage: its clients, and its stores as of the last commit."""

    slot: SlotId
    request: StageRequest


@dataclass(frozen=True, slots=True)
class RunStage:
    """Runs and commits a slot's share of a stage; the answer is its reports."""

    slot: SlotId
    request: StageRequest


@dataclass(frozen=True, slots=True)
class ReadStore:
    """Calls a reading method of one partition of a store."""

    slot: SlotId
    store: str
    partition: int
    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class AskRestores:
    """Asks which stores of a slot are being restored, with their progress."""

    slot: SlotId


@dataclass(frozen=True, slots=True)
class AskMeasures:
    """Asks for the measures of a slot's tasks."""

    slot: SlotId


@dataclass(frozen=True, slots=True)
class AskDoing:
    """Asks which records a slot is processing right now."""

    slot: SlotId


@dataclass(frozen=True, slots=True)
class TakeTraces:
    """Begins a watch of records, or goes on with it; the answer is what was traced since."""

    slot: SlotId
    watch: RecordWatch


@dataclass(frozen=True, slots=True)
class CloseSlot:
    """Makes a slot write its state to disk and end."""

    slot: SlotId
    release: Release


class StandbyId(NamedTuple):
    """The copies of one slot: ``application.id`` and the slot's number."""

    application_id: str
    number: int


@dataclass(frozen=True, slots=True)
class StandBy:
    """Starts to keep copies of a slot's stores.

    ``slots`` says how many slots there are: that decides which tasks belong to this one.
    """

    standby: StandbyId
    slots: int


@dataclass(frozen=True, slots=True)
class StandDown:
    """Ends the copies of a slot; nothing happens if there are none."""

    standby: StandbyId


@dataclass(frozen=True, slots=True)
class AskStandby:
    """Asks how far the copies of a slot are."""

    standby: StandbyId


#: Questions about what a slot does, which are answered also while it runs a stage.
Look = AskRestores | AskMeasures | AskDoing | TakeTraces
AboutSlot = WarmUp | RunStage | ReadStore | Look | CloseSlot
AboutStandby = StandBy | StandDown | AskStandby
Question = Ping | AboutSlot | AboutStandby


# Answers


@dataclass(frozen=True, slots=True)
class Alive:
    """A sign of life; the answer is still to come."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer of a question."""

    content: Any = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The error that a question has met, instead of its answer."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class WantsApplication:
    """The thread does not know the application yet; the driver sends its pickle next."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What the program has printed and logged in the thread's process."""

    lines: tuple[Line, ...]


Answer = Alive | Answered | Failed | WantsApplication | Printed


# The line of a thread


class SparkTask(NamedTuple):
    """Spark's numbers for the task that runs a thread."""

    #: The attempt of the task; with it the driver can have the task killed.
    attempt: int
    stage: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """A thread's first message: who it is, and which Spark task runs it."""

    endpoint: Endpoint
    #: None outside of Spark.
    task: SparkTask | None
    #: The job that has started the thread: jobs of a pool may belong to one application alone.
    job: str
    #: By tag: what the environment of the thread's host says about the place, such as its zone.
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What a thread has done for its Spark task so far."""

    work: Work
    #: The processor time of its process, and how long the task has run.
    cpu_ns: int
    run_ms: int


#: What a thread sends after its first message.
FromThread = Printed | Worked


@dataclass(frozen=True, slots=True)
class End:
    """Tells a thread to close what it has and to let its Spark task end."""
