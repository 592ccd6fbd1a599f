"""The rows of a push query that reads cuts: what has changed in a table from one to the next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from penstock.errors import PenstockError, StreamsError
from penstock.kernel.record_queue import RawRecord
from penstock.server.cuts.server_cut import ServerCut
from penstock.server.cuts.service import ServerCuts
from penstock.server.push.subscription import Subscription
from penstock.server.reading import Place
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.pull.table_rows import StoredRow, TableRows

_log = logging.getLogger("penstock.server")
#: How long one wait for the next cut, or for room, takes before the query is looked at again.
_LOOK_S = 0.5


class CutFeed:
    """Follow the cuts of the server, and give a subscription the changes of each as a whole.

    Args:
        cuts: The server's cuts.
        source: The table that the query reads.
        subscription: Turns records into rows.
        is_latest: Whether the rows of the first cut are left out.
    """

    def __init__(
        self,
        cuts: ServerCuts,
        source: DataSource,
        subscription: Subscription,
        *,
        is_latest: bool,
    ) -> None:
        self._cuts, self._source, self._subscription = cuts, source, subscription
        self._is_latest = is_latest
        self._thread = threading.Thread(
            target=self._run, name=f"penstock-cuts-of-{source.name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            self._follow()
        except PenstockError as error:
            self._subscription.fail(error)
        except Exception as error:  # noqa: BLE001 - a query that stands still must say so
            _log.exception("a push query over cuts has ended")
            self._subscription.fail(
                StreamsError("query-failed", f"the query failed: {error!r}", fix="ask again")
            )

    def _follow(self) -> None:
        before: ServerCut | None = None
        while not self._subscription.is_over:
            cut = self._cuts.after(before, [self._source], _LOOK_S)
            if cut is None:
                continue
            if before is not None or not self._is_latest:
                records = self._changes(before, cut)
                while not self._subscription.wait_for_room(_LOOK_S):
                    if self._subscription.is_over:
                        return
                if records:
                    self._subscription.feed(records)
            before = cut

    def _changes(self, before: ServerCut | None, cut: ServerCut) -> list[RawRecord]:
        """Return a record for each row that differs, those of deleted rows last."""
        name, topic = self._source.name, self._source.topic
        now, then = cut.tables[name], None if before is None else before.tables[name]
        rows: list[StoredRow] = []
        gone: list[StoredRow] = []
        for old, new in _differences(then, now):
            if new is not None:
                rows.append(new)
            elif old is not None:
                gone.append(old)
        rows.sort(key=lambda row: (row.partition, row.offset))
        made = [
            RawRecord(topic, r.partition, r.offset, r.timestamp, r.key, r.value, r.headers)
            for r in rows
        ]
        return made + [_deletion(topic, row, cut.positions) for row in gone]


def _differences(
    then: TableRows | None, now: TableRows
) -> list[tuple[StoredRow | None, StoredRow | None]]:
    if then is None:
        return [(None, row) for row in now.scan()]
    return list(now.differences(then))


def _deletion(topic: str, row: StoredRow, ends: Mapping[Place, int]) -> RawRecord:
    # Where the row was deleted is not kept; it was before the end of the cut.
    last = max(ends.get((topic, row.partition), 1) - 1, row.offset)
    return RawRecord(topic, row.partition, last, row.timestamp, row.key, None, row.headers)
