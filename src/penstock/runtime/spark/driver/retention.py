"""Keeps the changelogs of windowed stores as long as event time needs them.

The broker deletes records by the wall clock, but windows follow event time. If an application
processes old records, its changelog could be deleted while its windows are still open, and a
restart without local state would count from zero. So the retention of a changelog grows with the
distance between the two clocks, unless the user has set it. Until the first batch shows how old
events are, nothing is deleted: a broker may delete right after the first commit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.errors import KafkaRequestError
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.model.time.duration import MAX_LONG
from penstock.runtime.spark.driver.topics import changelog_config, is_windowed
from penstock.runtime.spark.exchange.plan import Plan

log = logging.getLogger(__name__)

_RETENTION = "retention.ms"
_DAY_MS = 86_400_000
#: The retention until the age of events is known. It is not -1, which a user may have set.
_UNTIL_KNOWN_MS = 1 << 60
_ROOM_MS = _DAY_MS // 2


class ChangelogRetention:
    """Sets the retention of changelogs now and then, by the event time of the tasks."""

    def __init__(self, plan: Plan, config: StreamsConfig, admin: Admin) -> None:
        self._admin = admin
        #: By topic: its sub-topology, and its retention if events are new.
        self._topics: dict[str, tuple[int, int]] = {}
        self._kept_ms: dict[str, int] = {}
        for part in plan.subtopologies.values():
            for name in part.stores(plan.graph):
                spec = plan.graph.stores.get(name)
                if spec is None or not spec.logging or not is_windowed(spec):
                    continue
                if _RETENTION in config.with_prefix("topic.") | dict(spec.changelog_config):
                    continue
                topic = f"{config[APPLICATION_ID]}-{name}-changelog"
                self._topics[topic] = part.id, int(changelog_config(spec, config)[_RETENTION])

    def hold(self) -> None:
        """Let the broker keep everything that the first batch of an application writes."""
        for topic in list(self._topics):
            with self._allowed(topic):
                self._admin.alter_topic_config(topic, {_RETENTION: str(_UNTIL_KNOWN_MS)})

    def keep_up(self, clocks: Mapping[TaskId, Clocks], now_ms: int) -> None:
        """Let every changelog outlive the windows that are open at this event time."""
        for topic, (subtopology, usual_ms) in list(self._topics.items()):
            times = [
                noted["stream_time"]
                for task, noted in clocks.items()
                if task.subtopology == subtopology and noted["stream_time"] >= 0
            ]
            if times:
                with self._allowed(topic):
                    self._adapt(topic, usual_ms, now_ms - min(times))

    def _adapt(self, topic: str, usual_ms: int, behind_ms: int) -> None:
        kept_ms = self._kept(topic)
        # The usual retention is long enough for events that are a little old.
        needed_ms = min(usual_ms + behind_ms, MAX_LONG)
        if behind_ms <= _ROOM_MS and kept_ms == _UNTIL_KNOWN_MS:
            self._keep(topic, usual_ms)
        elif needed_ms > kept_ms + _ROOM_MS or kept_ms == _UNTIL_KNOWN_MS:
            self._keep(topic, min(needed_ms + max(_DAY_MS, behind_ms // 4), MAX_LONG))
            log.info(
                "events are older than %s is kept: %s is now %d days",
                topic, _RETENTION, self._kept(topic) // _DAY_MS,
            )  # fmt: skip

    @contextmanager
    def _allowed(self, topic: str) -> Iterator[None]:
        """Go on without the right to see or change settings of a topic, and say what that means.

        The topic keeps the retention that it was created with. It is left alone until the
        application begins again.
        """
        try:
            yield
        except KafkaRequestError as error:
            if error.code != "not-allowed":
                raise
            _, usual_ms = self._topics.pop(topic)
            log.warning(
                "%s of %s cannot be adapted to the age of events: %s. The broker may delete state"
                " of open windows if events are more than %d days old; set %s of this topic"
                " yourself, or give the rights DescribeConfigs and AlterConfigs on it",
                _RETENTION, topic, error.message, usual_ms // _DAY_MS, _RETENTION,
            )  # fmt: skip

    def _kept(self, topic: str) -> int:
        """Return how long the broker keeps a changelog; it is asked only once."""
        if topic not in self._kept_ms:
            found = self._admin.topic_config(topic)[_RETENTION].value
            kept_ms = int(found) if found is not None else -1
            self._kept_ms[topic] = kept_ms if kept_ms >= 0 else MAX_LONG
        return self._kept_ms[topic]

    def _keep(self, topic: str, wanted_ms: int) -> None:
        self._admin.alter_topic_config(topic, {_RETENTION: str(wanted_ms)})
        self._kept_ms[topic] = wanted_ms
