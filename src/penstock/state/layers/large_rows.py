"""The changelog that warns of rows which are on their way to be too large."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from penstock.model.record import Headers
from penstock.state.environment import Changelog
from penstock.state.spec import StoreKind, StoreSpec

logger = logging.getLogger(__name__)

#: A warning comes long before the 1 MB that a broker accepts by default.
LARGE_ROW_BYTES = 100_000
#: So many groups of a store are named; one line says that others follow.
_MOST_NAMED = 100
#: What follows the key of a group in the keys of these stores: time and number, or both bounds.
_TAILS = {StoreKind.TIMESTAMPED_WINDOW: 12, StoreKind.SESSION: 16}
_OF_TABLES = (StoreKind.TIMESTAMPED_KEY_VALUE, StoreKind.TIMESTAMPED_WINDOW, StoreKind.SESSION)


def warns_of_large_rows(spec: StoreSpec, changelog: Changelog | None) -> Changelog | None:
    """Return the changelog of a store; that of a table or an aggregation warns of large rows."""
    if changelog is None or spec.kind not in _OF_TABLES:
        return changelog
    return _WarnsOfLargeRows(spec, changelog)


class _WarnsOfLargeRows:
    """Logs the first row of each group that is larger than ``LARGE_ROW_BYTES``."""

    def __init__(self, spec: StoreSpec, inner: Changelog) -> None:
        self._spec = spec
        self._append = inner.append
        self._append_all = inner.append_all
        self._named: set[bytes] = set()

    def append(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        if value is not None and len(value) > LARGE_ROW_BYTES:
            self._warn(key, len(value))
        self._append(key, value, timestamp, headers)

    def append_all(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None:
        for key, value in zip(keys, values, strict=True):
            if value is not None and len(value) > LARGE_ROW_BYTES:
                self._warn(key, len(value))
        self._append_all(keys, values, timestamps)

    def _warn(self, key: bytes, size: int) -> None:
        group = key[: len(key) - _TAILS.get(self._spec.kind, 0)]
        if group in self._named or len(self._named) > _MOST_NAMED:
            return
        self._named.add(group)
        if len(self._named) > _MOST_NAMED:
            logger.warning(
                "store %s: more than %d groups have rows of more than %d bytes; others are not"
                " named", self._spec.name, _MOST_NAMED, LARGE_ROW_BYTES,
            )  # fmt: skip
            return
        logger.warning(
            "store %s: the row of group %s has %d bytes; all of them are written again with each"
            " change, and brokers refuse records of more than max.message.bytes (1 MB by default)",
            self._spec.name, self._text(group), size,
        )  # fmt: skip

    def _text(self, group: bytes) -> str:
        """Return the key of a group as its serde reads it, or else its bytes."""
        serde = self._spec.key_serde
        try:
            return repr(group if serde is None else serde.decode(group))[:200]
        except Exception:  # noqa: BLE001 - a serde of the user; a warning must not end the task
            return repr(group)[:200]
