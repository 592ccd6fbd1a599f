"""Values as state stores keep them: with the timestamp of their update, or with a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from penstock.model.record import Headers

V = TypeVar("V")

#: What ``put`` of a versioned store returns if the record is the newest version of its key.
PUT_RETURN_CODE_VALID_TO_UNDEFINED = -1
#: What ``put`` of a versioned store returns if the record is older than the kept history.
PUT_RETURN_CODE_NOT_PUT = -(2**63)


class ValueAndTimestamp(NamedTuple):
    """A value and the timestamp of the update that made it."""

    value: object
    timestamp: int


class ValueTimestampHeaders(NamedTuple):
    """A value, the timestamp of the update that made it, and the headers of that update."""

    value: object
    timestamp: int
    headers: Headers = ()


class AggregationWithHeaders(NamedTuple):
    """The aggregate of a session, and the headers that are kept with it."""

    aggregation: object
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class VersionedRecord(Generic[V]):
    """One version of a key's value, valid from ``timestamp`` until ``valid_to``, if that is set."""

    value: V
    timestamp: int
    valid_to: int | None = None
