"""One record's journey as plain values, and the protocols of what it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from penstock.model.record import Headers
from penstock.serde.base import Serde

if TYPE_CHECKING:
    # Only the extra server brings it; applications without it load this module, too.
    from msgspec import Raw

    from penstock.serving.application import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord:
    """A record of a topic, as bytes."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()

    @property
    def size(self) -> int:
        return len(self.key or b"") + len(self.value or b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One read or write of a store. ``before`` is None for a read."""

    store: str
    operation: str
    key: Raw
    #: What was read, or what the row holds now; null: there is none.
    value: Raw
    before: Raw | None = None
    window_start: int | None = None
    #: Whether the application's own row was there to begin with.
    is_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """A record that a node has sent to a topic."""

    topic: str
    key: Raw
    value: Raw
    timestamp: int
    is_internal: bool


@dataclass(slots=True, kw_only=True)
class Step:
    """A record that has entered a node, and what the node did with it.

    ``parent`` is the step that forwarded the record; None for the first one, and for a record that
    comes out of a repartition topic or of a punctuation.
    """

    id: int
    parent: int | None
    node: str
    key: Raw
    value: Raw
    timestamp: int
    forwarded: int = 0
    #: Whether the function of the node was left out, because it only acts on what is outside.
    is_skipped: bool = False
    accesses: list[Access] = field(default_factory=list)
    sent: list[Sending] = field(default_factory=list)
    #: Reasons for which the record was dropped here.
    dropped: list[str] = field(default_factory=list)
    error: str | None = None


@dataclass(slots=True, kw_only=True)
class Trace:
    """All steps, in the order in which they were taken, and what is not known about them."""

    steps: list[Step] = field(default_factory=list)
    #: Drops before any node was entered: by source node, the reason.
    dropped: list[tuple[str, str]] = field(default_factory=list)
    is_cut: bool = False
    error: str | None = None
    #: Sentences about what could not be known.
    notes: list[str] = field(default_factory=list)


class Origin(NamedTuple):
    """The record of a source topic with which a journey begins."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordWatch:
    """Which of the next records are traced by the threads: those of a key, or one of so many.

    Threads forget a watch when nobody has asked for its traces for a few seconds.
    """

    #: Distinguishes watches; two readers never use the same one.
    name: str
    topic: str
    #: The serialized key; None takes records of any key.
    key: bytes | None = None
    #: Of the records that fit, one of so many is traced.
    every: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTrace:
    """What one task did with a record, or with what became of it, in a committed batch."""

    origin: Origin
    task: str
    #: The record as the task has read it: of a source topic, or of a repartition topic.
    record: TopicRecord
    trace: Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """What was traced since the last question, and how many records more were not."""

    traces: Sequence[LiveTrace] = ()
    missed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What a store holds for a key. ``why`` says why that is not known; empty if it is."""

    rows: Sequence[Row] = ()
    has_more: bool = False
    why: str = ""


class State(Protocol):
    """The stores of the application at one moment, read row by row."""

    def of_key(self, store: str, key: Any) -> Rows:
        """Return all rows of a key: its value, its windows, its sessions or its versions."""

    def some(self, store: str) -> Rows:
        """Return the first rows of a store, for a node that reads all of it."""


class Journeys(Protocol):
    """What a journey needs of an application. Several threads may use it.

    Reading raises ``NotAvailableError`` while Kafka does not answer.
    """

    def sources(self) -> Mapping[str, tuple[Serde[Any], Serde[Any]]]:
        """Return the topics whose records can be picked, with complete serdes."""

    def bounds(self, topic: str) -> Mapping[int, tuple[int, int]]:
        """Return by partition the first offset and the end; nothing if there is no topic."""

    def read(self, topic: str, partition: int, start: int, end: int) -> Sequence[TopicRecord]:
        """Return committed records with offsets in [``start``, ``end``)."""

    def run(self, before: Sequence[TopicRecord], record: TopicRecord, state: State) -> Trace:
        """Run records beside the application, and return the trace of the last one.

        Neither its stores nor its topics are written.
        """

    def traced(self, watch: RecordWatch) -> Traced:
        """Return what was traced since the last call with this watch; the first call begins it.

        Raises ``NotAvailableError`` where the application is not processed.
        """
