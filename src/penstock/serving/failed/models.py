"""The JSON of dead letters, and of what a caller says to send them again."""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType


class PartModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A key or value as text that can be edited: ``text``, ``value`` or ``base64``."""

    form: str
    text: str


class RedrivenModel(Struct, frozen=True):
    """That a record was sent again: how often, by whom, when, and with which note."""

    count: int
    by: str
    #: ISO 8601, in UTC
    at: str
    note: str


class SentModel(Struct, frozen=True):
    """Where the record was sent to by this instance, since it started."""

    partition: int
    offset: int
    by: str
    at: str


class FailedRecordModel(Struct, frozen=True):
    """One dead letter."""

    #: Where it is in the dead letter topic.
    partition: int
    offset: int
    #: The record's own time, which is also that of its letter.
    timestamp: int
    #: Where the record was when it failed.
    topic: str
    source_partition: int
    source_offset: int
    key: Raw
    value: Raw
    #: Whether the value is as the program's serde reads it.
    is_decoded: bool
    #: Whether only the beginning of the value is here.
    is_cut: bool
    message: str
    #: If it had been sent again before it failed this time.
    redriven: RedrivenModel | None
    #: If this instance has sent it again.
    sent: SentModel | None


class FailedGroupModel(Struct, frozen=True):
    """Letters of one error at one node; ``records`` are the newest of them, newest first."""

    #: Code of the error, or its class if it has none.
    error: str
    node: str
    #: The line of the program that made the node.
    site: str | None
    message: str
    count: int
    #: How many of them this instance has not sent again.
    left: int
    first_ms: int
    last_ms: int
    topics: list[str]
    records: list[FailedRecordModel]


class FailedRecordsModel(Struct, frozen=True):
    """The newest dead letters of an application, by error and node; the largest group first."""

    application: str
    #: null if ``errors.dead.letter.queue.topic.name`` is not set
    topic: str | None
    #: How many letters were read; false: the topic has older ones, too.
    count: int
    is_whole: bool
    #: By partition: the offset after the newest letter that was read.
    through: dict[str, int]
    groups: list[FailedGroupModel]


class HeaderModel(Struct, frozen=True):
    """A header of the record as it was in its source topic."""

    name: str
    value: Raw


class FailedRecordDetailModel(Struct, frozen=True):
    """One dead letter with all that is known, and with its parts as they can be edited."""

    record: FailedRecordModel
    error: str
    code: str
    node: str
    site: str | None
    stacktrace: str
    headers: list[HeaderModel]
    edit_key: PartModel | None
    edit_value: PartModel | None
    #: Why it cannot be sent again; null if it can.
    refused: str | None


class RedriveRecordModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A letter to be sent again. A part that is left out stays as it is; null is a null."""

    partition: int
    offset: int
    key: PartModel | UnsetType | None = UNSET
    value: PartModel | UnsetType | None = UNSET


class RedriveGroupModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole group, up to what the caller has seen of it."""

    error: str
    node: str
    #: By partition: the ``through`` of the list.
    through: dict[str, int]


class RedriveModel(Struct, frozen=True, forbid_unknown_fields=True):
    """What to send again: some records, or a group."""

    records: list[RedriveRecordModel] = []
    group: RedriveGroupModel | None = None
    #: Goes into a header of every record.
    note: str = ""


class DeliveryModel(Struct, frozen=True):
    """What became of one letter. ``code`` is null if it has arrived."""

    partition: int
    offset: int
    topic: str
    to_partition: int | None = None
    to_offset: int | None = None
    code: str | None = None
    message: str | None = None


class RedriveResultModel(Struct, frozen=True):
    """What became of all of them."""

    sent: int
    refused: int
    records: list[DeliveryModel]
