"""What user code implements to follow an application from outside its topology."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition


class StateRestoreListener(Protocol):
    """Is called while a store is restored from its changelog.

    The calls for one store are ``on_restore_start``, ``on_batch_restored`` about once a second, and
    ``on_restore_end`` before its task continues. A class that inherits from this one need not have
    every method. What a method raises is logged and has no other effect.
    """

    def on_restore_start(
        self, partition: TopicPartition, store: str, starting_offset: int, ending_offset: int
    ) -> None:
        """Is called before a store is restored, with the first offset and the end of the range."""

    def on_batch_restored(
        self, partition: TopicPartition, store: str, batch_end_offset: int, restored: int
    ) -> None:
        """Is called with the number of records since the last call, and the offset reached."""

    def on_restore_end(self, partition: TopicPartition, store: str, total: int) -> None:
        """Is called when a store is complete, with the number of records that were restored."""

    def on_restore_suspended(self, partition: TopicPartition, store: str, total: int) -> None:
        """Is called when a restore is given up: it begins again, or the application ends."""


class SuspendReason(Enum):
    """Why a standby copy of a store no longer follows its changelog."""

    MIGRATED = "MIGRATED"
    PROMOTED = "PROMOTED"


class StandbyUpdateListener(Protocol):
    """Is called while a standby copy of a store follows its changelog.

    Only copies on other instances are standby copies. If there are none, no method is called.
    For the store of a running task there is ``StateRestoreListener``.
    """

    def on_update_start(self, partition: TopicPartition, store: str, starting_offset: int) -> None:
        """Is called when a copy begins to follow its changelog."""

    def on_batch_loaded(
        self,
        partition: TopicPartition,
        store: str,
        task: TaskId,
        batch_end_offset: int,
        batch_size: int,
        current_end_offset: int,
    ) -> None:
        """Is called after records were applied, with the copy's offset and the changelog's end."""

    def on_update_suspended(
        self,
        partition: TopicPartition,
        store: str,
        store_offset: int,
        current_end_offset: int,
        reason: SuspendReason,
    ) -> None:
        """Is called when a copy no longer follows its changelog, with the reason."""
