"""Why a record is dropped: the reasons under which ``metrics()`` counts dropped records."""

from __future__ import annotations

from typing import Final

NULL_KEY: Final = "null-key"
NULL_KEY_OR_VALUE: Final = "null-key-or-value"
NULL_JOIN_KEY_OR_VALUE: Final = "null-join-key-or-value"
NULL_FOREIGN_KEY: Final = "null-foreign-key"
#: Neither the record nor its extractor has a time that is 0 or later.
NEGATIVE_TIMESTAMP: Final = "negative-timestamp"
#: All windows of the record, or one of several, have closed before it came.
EXPIRED_WINDOW: Final = "expired-window"
#: A row that is older than the history of its versioned table.
EXPIRED_VERSION: Final = "expired-version"
#: A session that its store had forgotten before it could be emitted at its close.
NOT_EMITTED: Final = "expired-before-emission"
#: An earlier record with the same key, or key and id, came less than the interval before.
DUPLICATE: Final = "duplicate"
#: A versioned table has a newer row, so an operator that needs the latest row ignores this one.
OUT_OF_ORDER: Final = "out-of-order"
#: A handler has decided to skip a record that could not be read, processed or written.
DESERIALIZATION: Final = "deserialization"
PROCESSING: Final = "processing"
PRODUCTION: Final = "production"
#: The partitioner of a sink has chosen no partition.
NO_PARTITION: Final = "partitioner"
#: An answer of a foreign-key join that belongs to an older value of the row that asked.
STALE_RESPONSE: Final = "stale-response"


def absent_field(name: object) -> str:
    """Return the reason of a record whose value lacks a field that an expression needs.

    >>> absent_field("amount")
    'absent-field: amount'
    """
    return f"absent-field: {name}"
