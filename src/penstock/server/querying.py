"""Everything that queries of the server share: replicas, shared readers, threads and counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.config import STATE_DIR
from penstock.model.metric import Metric
from penstock.server.cuts.service import ServerCuts
from penstock.server.host import QueryHost
from penstock.server.pull.plan_cache import BoundPull
from penstock.server.pull.replicas import Replicas
from penstock.server.pull.service import PullService
from penstock.server.push.service import (
    MAX_PUSH_QUERIES,
    PlannedPush,
    PushService,
    TooManyPushQueriesError,
)
from penstock.server.query_meter import GROUP, QueryMeter
from penstock.server.reading import KafkaTopics, Topics
from penstock.serving.credentials import Access

_THREADS = 16


@dataclass(slots=True)
class PulledRows:
    """How many rows of a pull query have been sent."""

    count: int = 0


class QueryServices:
    """Pull and push queries of one server; ``start`` it before the first and ``close`` it last.

    Nothing is opened before the first query. ``close`` ends all push queries, their readers and the
    replicas, and leaves no threads, consumers or folders behind.

    Args:
        host: The server's catalog and its configuration.
        topics: The topics of the cluster; else those that the configuration names.
        folder: Where copies of tables are kept; else in ``state.dir``.
    """

    def __init__(
        self, host: QueryHost, topics: Topics | None = None, folder: Path | None = None
    ) -> None:
        self.host = host
        self.topics = topics or KafkaTopics(host.config)
        self.meter = QueryMeter()
        self.replicas = Replicas(self.topics, folder or Path(host.config[STATE_DIR]))
        self.cuts = ServerCuts(host, self.topics, self.replicas)
        self.pull = PullService(host, self.topics, self.replicas, self.cuts)
        self.push = PushService(host, self.topics, self.meter, self.cuts)
        self._prints = 0
        #: For what may wait: planning, scans, opening and closing.
        self.threads = ThreadPoolExecutor(_THREADS, "penstock-query")

    def check_access(self, asked: BoundPull | PlannedPush, access: Access) -> None:
        """Refuse a query over topics that the caller may not read.

        Raises:
            ForbiddenError: ``forbidden``.
        """
        if access < Access.FULL:
            query = asked.prepared.query.push if isinstance(asked, BoundPull) else asked.query
            self.host.topic_rules.check_sources(query.plan, access)

    @contextmanager
    def pull_place(self, bound: BoundPull) -> Iterator[PulledRows]:
        """Enforce the limits for one pull query, and count it when it has ended.

        All endpoints use this, so that limits and counts are the same for all of them. If a client
        leaves before the end, that is not an error.

        Raises:
            BusyError: there are as many as the settings allow, or they come too fast.
        """
        self.pull.enter()
        started, rows, is_error = time.perf_counter(), PulledRows(), True
        try:
            yield rows
            is_error = False
        except asyncio.CancelledError:
            is_error = False
            raise
        finally:
            self.pull.leave()
            prepared, seconds = bound.prepared, time.perf_counter() - started
            self.meter.pulled(
                prepared.plan.name, prepared.source_names, seconds, rows.count, is_error=is_error
            )

    @contextmanager
    def print_place(self) -> Iterator[None]:
        """Enforce the limit for one PRINT; only on the event loop.

        Each has a consumer and a thread, so the limit of push queries holds for them as well.

        Raises:
            TooManyPushQueriesError: ``too-many-prints``.
        """
        most = int(self.host.engine.config.get(MAX_PUSH_QUERIES, "100"))
        if self._prints >= most:
            raise TooManyPushQueriesError(
                "too-many-prints",
                f"{self._prints} PRINTs run, and {MAX_PUSH_QUERIES} is {most}",
                fix=f"end one of them, or raise {MAX_PUSH_QUERIES} in the server's settings",
            )
        self._prints += 1
        try:
            yield
        finally:
            self._prints -= 1

    def start(self) -> None:
        """Delete the folders that killed servers have left on this disk."""
        self.replicas.start()

    def close(self) -> None:
        self.push.close_all()
        self.cuts.close()
        self.replicas.close()
        # The event loop may be the caller, and a thread may be waiting for it.
        self.threads.shutdown(wait=False, cancel_futures=True)

    def metrics(self) -> list[Metric]:
        """Return counts of queries, how far replicas are, and how many share each reader."""
        found = self.meter.metrics()
        for replica in self.replicas.all():
            tags = {"source": replica.source.name}
            found.append(
                Metric("replica-lag", GROUP, replica.lag, tags, "Offsets behind the topic.")
            )
            rows = replica.approximate_rows
            found.append(Metric("replica-rows", GROUP, rows, tags, "Rows, as RocksDB estimates."))
        for reader in self.push.shared_readers:
            tags = {"topic": reader.topic}
            found.append(
                Metric("push-subscribers", GROUP, reader.feeds, tags, "Subscribers of a reader.")
            )
        return found

    def end(self, query_id: str) -> bool:
        """End a push query by its id; false if there is none."""
        return self.push.end(query_id)

    def describe(self) -> Mapping[str, str]:
        """Return the push queries that run, for listings: id and statement."""
        return {opened.id: opened.planned.query.plan.sql for opened in self.push.all()}
