"""The copies of one slot's stores on an executor where the slot does not run."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from penstock.config import StreamsConfig
from penstock.errors import StoreError
from penstock.model.task_id import TaskId
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.exchange.batch_log import Cut
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.replica.following import ReplicaThread
from penstock.runtime.spark.replica.log_follower import LogFollower
from penstock.runtime.spark.replica.replica import CopyLag, Replica
from penstock.runtime.spark.replica.task_copy import TaskCopy
from penstock.runtime.spark.worker.clients import Clients, KafkaClients
from penstock.state.engine.rocks import OpenEngine, open_rocks
from penstock.state.task_directory import move_task

log = logging.getLogger(__name__)


def standby_folder(application: Application, number: int) -> Path:
    """Return the folder of a slot's copies on this host.

    The tasks themselves may have folders here, too: from the time before the slot moved, or
    because another executor of this host runs them.
    """
    return Path(application.state_dir) / application.id / f"standby-{number}"


def tasks_of(application: Application, number: int, slots: int) -> list[TaskId]:
    return [task for task in application.plan.task_ids() if task.partition % slots == number]


class Standby:
    """Follow the changelogs of one slot's tasks, from cut to cut, until ``close``.

    Args:
        slots: how many slots the application has: they decide which tasks belong to this one.
    """

    def __init__(
        self,
        application: Application,
        number: int,
        slots: int,
        clients: Clients | None = None,
        open_engine: OpenEngine = open_rocks,
    ) -> None:
        self.application = application
        self.slots = slots
        self._log: LogFollower | None = None
        replica = Replica(
            application,
            clients or KafkaClients(application),
            tasks=tasks_of(application, number, slots),
            directory=standby_folder(application, number),
            open_engine=open_engine,
        )
        self._following = ReplicaThread(replica, self._newest)
        self._log = LogFollower(
            application.batches_topic, application.restore_consumer, self._following.wake
        )

    def _newest(self) -> Cut | None:
        return None if self._log is None else self._log.state.cut

    def lags(self) -> list[CopyLag]:
        """Return how far each copy is behind the newest cut."""
        replica = self._following.replica
        return replica.lags() if replica.target is not None else []

    @property
    def is_current(self) -> bool:
        """Whether the copies have reached a cut, so that their lag is known."""
        return self._following.replica.cut is not None

    def close(self) -> None:
        """Write the copies to disk; a slot that starts on this host takes them over."""
        if self._log is not None:
            self._log.close()
        self._following.close(is_promoted=True)


def adopt(
    application: Application, number: int, open_engine: OpenEngine = open_rocks
) -> list[TaskId]:
    """Let the tasks of a slot use the copies that a standby has left on this host.

    A copy takes the place of the task's own folder if it has read more of the changelogs. Call
    this before the slot opens its stores, and after the standby is closed.

    Returns:
        The tasks whose copies were taken over.
    """
    folder = standby_folder(application, number)
    if not folder.is_dir():
        return []
    found: list[TaskId] = []
    own = folder.parent
    for task in application.plan.task_ids():
        if not (folder / str(task)).is_dir():
            continue
        try:
            is_newer = _progress(application, task, folder, open_engine) > _progress(
                application, task, own, open_engine
            )
            if is_newer:
                move_task(folder, own, str(task))
                found.append(task)
        except (StoreError, OSError) as error:
            # Without the copy the task restores its stores from the changelogs.
            log.warning("the copy of task %s cannot be used: %s", task, error)
    # A copy that was not taken over is older than the task's own folder.
    shutil.rmtree(folder, ignore_errors=True)
    if found:
        log.info("slot %d continues with the copies of %d tasks", number, len(found))
    return found


def _progress(
    application: Application, task: TaskId, directory: Path, open_engine: OpenEngine
) -> int:
    """Return how many offsets of its changelogs the databases of a task contain."""
    if not (directory / str(task)).is_dir():
        return -1
    settings = task_settings(
        StreamsConfig(application.config), emit_interval_ms=0, state_dir=directory
    )
    copy = TaskCopy(task, application.plan, settings, directory, open_engine)
    try:
        return sum(engine.checkpoint.changelog_offset for engine in copy.databases.engines.values())
    finally:
        copy.close()
