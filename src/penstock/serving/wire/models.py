"""What the server answers, as msgspec structs; times are milliseconds since the epoch."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType

from penstock.serving.past.models import CommitPointModel, UnknownModel

#: Offsets of the next record that is missing, by topic and partition.
PositionModel = dict[str, dict[str, int]]


class SourceModel(Struct, frozen=True):
    """Which copy of a partition answered, and how far it is."""

    partition: int
    #: owner, standby or replica
    role: str
    instance: str
    #: Committed changes that the copy has not seen; 0 for the owner.
    lag: int
    position: PositionModel
    batch: int | None = None


class PastModel(Struct, frozen=True):
    """The commit whose state an answer is, and the rows of which it is not known what they held."""

    commit: CommitPointModel
    unknown: list[UnknownModel]


class EntryModel(Struct, frozen=True):
    """The value of one key. ``past`` is there if a commit was asked for."""

    store: str
    key: Raw
    value: Raw
    source: SourceModel
    timestamp: int | None = None
    valid_to: int | None = None
    past: PastModel | UnsetType = UNSET


class RowModel(Struct, frozen=True, omit_defaults=True):
    """One row of a page."""

    key: Raw
    value: Raw
    timestamp: int | None = None
    window_start: int | None = None
    window_end: int | None = None
    valid_to: int | None = None
    #: Where the row stands in its store; only with ``cursors=true``.
    cursor: str | None = None


class PageModel(Struct, frozen=True):
    """Rows of a store, in order. ``truncated``: there are more, and ``next`` asks for them.

    ``past`` is there if a commit was asked for.
    """

    store: str
    rows: list[RowModel]
    truncated: bool
    limit: int
    sources: list[SourceModel]
    next: str | None = None
    past: PastModel | UnsetType = UNSET


class StoreModel(Struct, frozen=True):
    """A store and how its keys are written in a URL."""

    name: str
    kind: str
    partitions: int
    is_global: bool
    key_form: str
    key_serde: str
    value_serde: str
    window_size_ms: int | None = None


class StoresModel(Struct, frozen=True):
    """All stores of the application."""

    application: str
    stores: list[StoreModel]


class InstanceModel(Struct, frozen=True):
    """One process of the application."""

    id: str
    address: str | None
    is_leader: bool
    tags: dict[str, str]
    owned: dict[str, list[int]]
    copies: dict[str, list[int]]


class MetadataModel(Struct, frozen=True):
    """All instances that this one knows of."""

    application: str
    instance: str
    instances: list[InstanceModel]


class KeyLocationModel(Struct, frozen=True):
    """Where a key is read: Kafka Streams' ``KeyQueryMetadata``."""

    store: str
    key: Raw
    partition: int
    owner: InstanceModel | None
    copies: list[InstanceModel]


class RestoreModel(Struct, frozen=True):
    """How far a store has been read back from its changelog."""

    store: str
    partition: int
    start: int
    position: int
    end: int


class HealthModel(Struct, frozen=True, omit_defaults=True):
    """``UP`` or ``DOWN``; the rest is shown to callers that may read stores."""

    status: str
    state: str | None = None
    is_leader: bool | None = None
    waiting_for: str | None = None
    total_lag: int | None = None
    lag: PositionModel | None = None
    restoring: list[RestoreModel] = []
    error: str | None = None
    batch: int | None = None


class ChangeModel(Struct, frozen=True, omit_defaults=True):
    """One committed change of a store; a null value is a deletion."""

    partition: int
    offset: int
    key: Raw
    value: Raw
    timestamp: int | None = None
    window_start: int | None = None
    window_end: int | None = None


class ErrorModel(Struct, frozen=True, omit_defaults=True):
    """What is wrong, and what to do. ``code`` is stable."""

    code: str
    message: str
    fix: str | None = None


class AboutModel(Struct, frozen=True):
    """What is served here, for a console: which pages it can show, and what the caller may do."""

    #: application or sql-server
    kind: str
    name: str
    version: str
    #: read, write or full
    access: str
    pages: list[str]


class TopologyModel(Struct, frozen=True):
    """The topology as ``Topology.to_json`` describes it."""

    application: str
    topology: dict[str, Any]
