"""The JSON of a record's journey, and of the records that can be picked."""

from __future__ import annotations

from msgspec import Raw, Struct

from penstock.serving.past.models import CommitPointModel


class PickedRecordModel(Struct, frozen=True):
    """A record of a source topic."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Raw
    value: Raw
    is_decoded: bool


class PickedRecordsModel(Struct, frozen=True):
    """The newest records of a topic, newest first; or, without a topic, what topics there are."""

    application: str
    topics: list[str]
    records: list[PickedRecordModel]
    #: Whether all records of the topic were looked at.
    is_whole: bool


class AccessModel(Struct, frozen=True):
    """One read or write of a store."""

    store: str
    operation: str
    key: Raw
    value: Raw
    #: What the row held before a write; null for a read, and for a row that was not there.
    before: Raw
    is_write: bool
    window_start: int | None
    #: Whether what the application had is known.
    is_known: bool


class SendingModel(Struct, frozen=True):
    """A record that a node would send to a topic."""

    topic: str
    key: Raw
    value: Raw
    timestamp: int
    #: Whether it is a topic between two parts of the application.
    is_internal: bool


class StepModel(Struct, frozen=True):
    """A record that has entered a node, and what the node did with it."""

    id: int
    parent: int | None
    node: str
    site: str | None
    key: Raw
    value: Raw
    timestamp: int
    #: How many records it forwarded to other nodes.
    forwarded: int
    is_skipped: bool
    accesses: list[AccessModel]
    sent: list[SendingModel]
    dropped: list[str]
    error: str | None


class DropModel(Struct, frozen=True):
    """A record that was dropped before it entered a node."""

    node: str
    reason: str


class JourneyModel(Struct, frozen=True):
    """One record's way through the topology, run again beside the application."""

    record: PickedRecordModel
    #: The state that it was run on; null: the present.
    commit: CommitPointModel | None
    run_before: int
    #: null: not known
    is_processed: bool | None
    steps: list[StepModel]
    dropped: list[DropModel]
    error: str | None
    #: Whether there are more steps than these.
    is_cut: bool
    #: Sentences about what could not be known.
    notes: list[str]


class OriginModel(Struct, frozen=True):
    """The record of a source topic with which a journey begins."""

    topic: str
    partition: int
    offset: int


class LiveTraceModel(Struct, frozen=True):
    """What one task did with a watched record, or with what became of it."""

    origin: OriginModel
    task: str
    #: The record itself; null in a task that goes on behind a repartition topic.
    record: PickedRecordModel | None
    steps: list[StepModel]
    dropped: list[DropModel]
    is_cut: bool
    notes: list[str]


class LiveTracesModel(Struct, frozen=True):
    """What threads have traced since the last event."""

    traces: list[LiveTraceModel]
    #: How many records more have come that are not among them.
    missed: int
