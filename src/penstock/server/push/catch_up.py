"""A subscriber that begins before the present end has its own consumer until it has caught up."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from penstock.errors import PenstockError, StreamsError
from penstock.kernel.record_queue import RawRecord
from penstock.server.push.shared_reader import SharedReader
from penstock.server.push.subscription import Subscription
from penstock.server.reading import Reader, Topics

_log = logging.getLogger("penstock.server")
_POLL_S = 0.2
#: How many records of several topics are sorted by timestamp at a time.
_ROUND = 20_000


class CatchUp:
    """Feed a subscription from a consumer of its own, then attach it to the shared readers.

    Args:
        topics: The topics of the cluster.
        subscription: The subscriber; it says where to begin.
        readers: The shared readers of its topics.
        places: Limits how many subscribers catch up at a time.
    """

    def __init__(
        self,
        topics: Topics,
        subscription: Subscription,
        readers: Sequence[SharedReader],
        places: threading.Semaphore,
    ) -> None:
        self._topics = topics
        self._subscription = subscription
        self._left = list(readers)
        self._places = places
        self._thread = threading.Thread(target=self._run, name="penstock-catch-up", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._places.acquire(timeout=_POLL_S):
            if self._subscription.is_closed:
                return
        try:
            self._read()
        except PenstockError as error:
            self._subscription.fail(error)
        # A bug must not leave a client waiting for ever.
        except Exception as error:  # noqa: BLE001
            _log.error("a push query could not catch up", exc_info=error)
            self._subscription.fail(StreamsError("query-failed", f"the query failed: {error!r}"))
        finally:
            self._places.release()

    def _read(self) -> None:
        subscription = self._subscription
        reader = self._topics.reader(subscription.starts, is_eager=True)
        try:
            while self._left and not self._is_over():
                records = self._round(reader)
                if records:
                    subscription.feed(records)
                for place, at in reader.positions.items():
                    # The marker of a transaction may follow the last record.
                    subscription.positions[place] = max(subscription.positions.get(place, 0), at)
                self._join_others(reader)
                while not subscription.wait_for_room(_POLL_S) and not self._is_over():
                    pass
        finally:
            reader.close()

    def _is_over(self) -> bool:
        subscription = self._subscription
        return (
            subscription.is_closed or subscription.is_complete or subscription.failure is not None
        )

    def _round(self, reader: Reader) -> list[RawRecord]:
        """Read some records; if there are several topics, up to ``_ROUND`` of them together.

        A join sees records in the order of their timestamps only if it gets them together.
        """
        records = reader.read(_POLL_S)
        if len(self._left) > 1 or self._has_partitions(reader):
            while len(records) < _ROUND and not self._is_over():
                more = reader.read(_POLL_S)
                if not more:
                    break
                records += more
        return records

    def _has_partitions(self, reader: Reader) -> bool:
        return self._subscription.run.has_state and len(reader.positions) > 1

    def _join_others(self, reader: Reader) -> None:
        """Attach to each shared reader that is not ahead of this one."""
        for shared in list(self._left):
            positions = {p: at for p, at in reader.positions.items() if p[0] == shared.topic}
            if shared.attach(self._subscription, positions) is not None:
                self._left.remove(shared)
                reader.forget(positions)
