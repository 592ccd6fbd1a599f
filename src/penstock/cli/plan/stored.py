"""What Kafka says about applications: their fingerprints, changelogs and members."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.config import APPLICATION_ID, BOOTSTRAP_SERVERS, StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings, consumer_settings
from penstock.runtime.spark.driver.topics import batches_topic
from penstock.runtime.spark.exchange.batch_log import read_log
from penstock.topology.upgrades.stores import section_name

_CHANGELOG = "-changelog"


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """The state of one application in Kafka."""

    fingerprint: bytes | None
    has_run: bool
    kept: frozenset[str]
    is_running: bool


class PlanReader:
    """Read the state of applications from Kafka, without joining a group or creating a topic."""

    def __init__(self, settings: dict[str, object]) -> None:
        self._config = StreamsConfig({APPLICATION_ID.name: "penstock-plan", **settings})
        self._admin = Admin(admin_settings(self._config))
        self.topics = self._admin.topics()

    @property
    def cluster(self) -> str:
        return str(self._config[BOOTSTRAP_SERVERS])

    def read(self, application_id: str) -> StoredPlan:
        """Return the state of an application; it is empty if the application has never run."""
        log, own = batches_topic(application_id), f"{application_id}-"
        kept = frozenset(
            section_name(name.removeprefix(own).removesuffix(_CHANGELOG))
            for name in self.topics
            if name.startswith(own) and name.endswith(_CHANGELOG)
        )
        if log not in self.topics:
            return StoredPlan(None, has_run=False, kept=kept, is_running=False)
        state = read_log(log, consumer_settings(self._config, "restore"), is_whole=False)
        return StoredPlan(
            state.plan_fingerprint,
            has_run=True,
            kept=kept,
            is_running=bool(self._admin.group(application_id).members),
        )

    def applications(self, prefix: str) -> list[str]:
        """Return the ids of applications that begin with a prefix, by their batch logs."""
        tail = batches_topic("")
        ids = [name.removesuffix(tail) for name in self.topics if name.endswith(tail)]
        return sorted(each for each in ids if each.startswith(prefix))
