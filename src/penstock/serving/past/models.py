"""The JSON of what is read from the past; times are milliseconds since the epoch."""

from __future__ import annotations

from msgspec import Raw, Struct


class CommitPointModel(Struct, frozen=True):
    """A commit that can be looked back at."""

    number: int
    at_ms: int


class CommitsModel(Struct, frozen=True):
    """The commits that can be looked back at, oldest first; the older, the fewer of them."""

    application: str
    commits: list[CommitPointModel]


class UnknownModel(Struct, frozen=True, omit_defaults=True):
    """A row that has changed since, and whose older value is gone. ``key`` is base64url."""

    key: str
    window_start: int | None = None
    window_end: int | None = None


class DifferenceRowModel(Struct, frozen=True, omit_defaults=True):
    """A row that differs between two commits; null where it did not exist.

    ``is_known`` says whether it is known what it held before: that may have been compacted away.
    """

    partition: int
    key: Raw
    before: Raw
    after: Raw
    is_known: bool = True
    timestamp: int | None = None
    window_start: int | None = None
    window_end: int | None = None


class DifferenceModel(Struct, frozen=True):
    """What has changed in a store between two commits."""

    store: str
    first: CommitPointModel
    second: CommitPointModel
    rows: list[DifferenceRowModel]
    truncated: bool


class KeyChangeModel(Struct, frozen=True, omit_defaults=True):
    """One change of a key. ``commit`` is the first known commit that contains it."""

    partition: int
    offset: int
    value: Raw
    timestamp: int | None = None
    window_start: int | None = None
    window_end: int | None = None
    commit: int | None = None


class KeyHistoryModel(Struct, frozen=True):
    """The changes of one key, newest first. ``is_whole``: there were no others."""

    store: str
    key: Raw
    changes: list[KeyChangeModel]
    is_whole: bool


class HotKeyModel(Struct, frozen=True):
    """A key, and how many of the newest changes are changes of it."""

    key: Raw
    changes: int
    partition: int


class HotKeysModel(Struct, frozen=True):
    """The keys that change most, among some thousand of the newest changes."""

    store: str
    keys: list[HotKeyModel]
