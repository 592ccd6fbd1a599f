"""The protocol of an application that answers queries, whatever runs it.

The server (``penstock.serving.server``) knows an application only through ``Queryable``. A driver
that leads, an instance that follows with replicas, and a test's dictionary all implement it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from penstock.errors import StreamsError
from penstock.model.metric import Metric
from penstock.serde.base import Serde
from penstock.serving.failed.values import DeadLetters
from penstock.serving.journey.values import Journeys
from penstock.serving.past.values import Changes, Commit
from penstock.serving.question import KeyQuestion, Question
from penstock.serving.status.values import ApplicationStatus, Program, RestoreProgress
from penstock.state.spec import StoreKind
from penstock.topology.upgrades.fingerprint import PlanFingerprint

#: Kafka Streams' position: by topic and partition, the offset of the next record that is missing.
Position = Mapping[str, Mapping[int, int]]


class Role(StrEnum):
    """The role of a copy of a partition."""

    #: The copy that processing writes to. It has everything that is committed.
    OWNER = "owner"
    #: A copy that follows the changelog so that it can take over.
    STANDBY = "standby"
    #: A copy that follows the changelog only to answer queries.
    REPLICA = "replica"


class NotAvailableError(StreamsError):
    """No copy can answer right now, but a later request can succeed.

    The partition is moving to another instance, for example, or is being restored.

    The server answers 503 with ``Retry-After``. Codes: ``partition-moving``, ``store-not-ready``,
    ``not-up-to-bound``, ``not-running``, ``instance-unreachable``.
    """


class NoSuchCommitError(StreamsError):
    """A commit cannot be looked back at.

    The server answers 404. Codes: ``commit-gone``, ``commit-too-far``, ``commit-unknown-there``.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """A store as its readers see it."""

    name: str
    kind: StoreKind
    #: Complete serdes: defaults of the configuration are filled in.
    key_serde: Serde[Any]
    value_serde: Serde[Any]
    #: How many partitions it has; a global store has one, of which every instance has a copy.
    partitions: int
    is_global: bool = False
    window_size_ms: int | None = None
    #: Whether murmur2 of a key decides its partition; otherwise any partition may have it.
    is_placed: bool = False
    #: The topic given to the key serde, and from which change feeds are read.
    changelog: str = ""


class Row(NamedTuple):
    """One entry of a store. ``value`` is never None: a key without a value has no row."""

    key: Any
    value: Any
    #: Event time of the update, if the store keeps it; of a version, the start of its validity.
    timestamp: int | None = None
    #: Bounds of the window or session; None for key-value stores.
    window_start: int | None = None
    window_end: int | None = None
    #: End of a version's validity, exclusive; None if it is the newest one.
    valid_to: int | None = None
    #: Where the row stands among the rows of its store, in byte order. Only scans need it: see
    #: ``penstock.serving.question.row_order``.
    order: bytes = b""


class Source(NamedTuple):
    """The copy that answered."""

    role: Role
    instance: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What one partition answers.

    Args:
        rows: in order, at most ``limit`` of them.
        source: the copy that was read.
        position: what the copy has seen; may be empty if it is not known.
        lag: committed records of the changelog that the copy has not seen: 0 for the owner.
        has_more: whether rows were left out because of the limit.
        batch: the number of the newest cut that is contained, if known.
    """

    rows: Sequence[Row]
    source: Source
    position: Position = field(default_factory=dict)
    lag: int = 0
    has_more: bool = False
    batch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One process of the application, as Kafka Streams' ``StreamsMetadata`` describes it."""

    id: str
    #: ``application.server`` of that process: host and port. None if it does not answer over HTTP.
    address: str | None = None
    is_leader: bool = False
    #: Its ``client.tag.*`` settings, by name without the prefix.
    tags: Mapping[str, str] = field(default_factory=dict)
    #: By store: the partitions that it owns.
    owned: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: By store: the partitions of which it has a copy that may be behind.
    copies: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Location:
    """Where a partition can be read. ``owner`` is None while it moves."""

    owner: Instance | None
    copies: tuple[Instance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The state of the application, from which ``/health/live`` and ``/health/ready`` follow."""

    #: Kafka Streams' state: CREATED, REBALANCING, RUNNING, PENDING_SHUTDOWN, ...
    state: str
    #: Whether the process does what it should; false means that a restart would help.
    is_alive: bool
    #: Whether queries are answered and, on the leader, batches run.
    is_ready: bool
    is_leader: bool = False
    #: What it waits for (a broker, the lead, an executor); None if nothing.
    waiting_for: str | None = None
    #: Records of source topics that wait, by topic and partition. None: not known right now.
    lag: Mapping[str, Mapping[int, int]] | None = None
    restoring: tuple[RestoreProgress, ...] = ()
    #: Code of the error that ended the application. The text may name data, so it is not shown.
    error: str | None = None
    batch: int | None = None


class StoreChange(NamedTuple):
    """One committed change of a store. ``value`` is None for a deletion."""

    partition: int
    #: Offset of the change in the changelog; a reader resumes after it.
    offset: int
    key: Any
    value: Any
    timestamp: int | None = None
    window_start: int | None = None
    window_end: int | None = None


#: Receives changes in order per partition, from any thread, and returns at once. It is called
#: without changes when the feed has failed.
ChangeListener = Callable[[Sequence[StoreChange]], None]


class Subscription(Protocol):
    """A change feed that is being read."""

    @property
    def start(self) -> Mapping[int, int]:
        """By partition: the offset at which the feed began."""

    @property
    def failure(self) -> str | None:
        """Why no more changes come; None while the feed works."""

    def close(self) -> None:
        """End the feed; the listener is not called after this returns."""


class Queryable(Protocol):
    """An application that answers queries. Several threads may call its methods at once.

    Methods raise only the errors that they name. A method that reads a partition may also raise
    ``NotAvailableError``.
    """

    @property
    def application_id(self) -> str: ...

    @property
    def instance_id(self) -> str:
        """A name of this process that no other instance of the application has."""

    @property
    def address(self) -> str | None:
        """``application.server`` of this process, if set."""

    def health(self) -> Health:
        """Return what is known now; wait for seconds at most."""

    def stores(self) -> Mapping[str, StoreInfo]:
        """Return the stores of the topology by name; the same mapping while it does not change."""

    def instances(self) -> Sequence[Instance]:
        """Return all instances that are known, this one among them."""

    def location(self, store: str, partition: int) -> Location:
        """Return where a partition can be read, without waiting."""

    def read(
        self,
        store: str,
        partition: int,
        question: Question,
        *,
        allow_stale: bool = False,
        bound: Position | None = None,
    ) -> Answer:
        """Read committed state of one partition from a copy in this instance.

        Args:
            allow_stale: whether a standby or replica may answer; else only the owner.
            bound: a position that the copy must have reached.

        Raises:
            NotAvailableError: no copy here may answer: ``partition-moving`` if the partition is not
                owned here, ``store-not-ready`` while it is restored, ``not-up-to-bound``.
            UnknownStoreError: ``unknown-store``.
            UnsupportedOperationError: the kind of store does not answer such a question.
            SerializationError: the key does not fit the store's serde.
        """

    def read_now(
        self,
        store: str,
        partition: int,
        question: KeyQuestion,
        *,
        allow_stale: bool = False,
        bound: Position | None = None,
    ) -> Answer | None:
        """Read one key on the server's event loop, if that is possible without waiting.

        Return None if the read would have to wait for another process or a lock, or if no copy
        here may answer. The server then uses ``read`` or another instance. A point query that is
        answered here needs no thread.

        Raises:
            SerializationError: the key does not fit the store's serde.
        """

    def subscribe(
        self, store: str, since: Mapping[int, int] | None, listener: ChangeListener
    ) -> Subscription:
        """Send committed changes of a store to a listener.

        Args:
            since: by partition: the first offset wanted; partitions that are left out begin with
                what is committed from now on. None: all of them do.
        """

    def commits(self) -> Sequence[Commit]:
        """Return the commits that can be looked back at, the newest last."""

    def changes(self, store: str, partition: int, start: int, end: int) -> Changes:
        """Read committed changes whose offsets in the changelog lie in [``start``, ``end``).

        The caller sees to it that these are not too many.
        """

    def dead_letters(self) -> DeadLetters | None:
        """Return the topic of dead letters, each time the same object; None if there is none."""

    def journeys(self) -> Journeys:
        """Return what it takes to run one of its records again."""

    def plan(self) -> PlanFingerprint:
        """Return what the state of the application depends on."""

    def topology(self) -> Mapping[str, Any]:
        """Return the topology as plain values that JSON can hold."""

    def topology_svg(self) -> str: ...

    def metrics(self) -> Sequence[Metric]:
        """Return what is measured now, under Kafka Streams' names."""

    def status(self, *, is_watched: bool) -> ApplicationStatus:
        """Return what the application does at this moment.

        Args:
            is_watched: whether somebody looks. If not, only what is known without asking Kafka or
                another process is returned.
        """

    def program(self) -> Program:
        """Return the code behind the topology's nodes, and how its parts run."""

    def close(self) -> None:
        """Free what answering has opened; nothing is asked any more."""
