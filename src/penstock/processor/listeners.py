"""What user code implements to follow an application from outside its topology."""

from __future__ import annotations

from typing import Protocol

TopicPartition = tuple[str, int]


class StateRestoreListener(Protocol):
    """Told when a store has been read back from its changelog, before its task goes on."""

    def on_restore_start(
        self, partition: TopicPartition, store: str, starting_offset: int, ending_offset: int
    ) -> None: ...

    def on_batch_restored(
        self, partition: TopicPartition, store: str, batch_end_offset: int, restored: int
    ) -> None: ...

    def on_restore_end(self, partition: TopicPartition, store: str, total: int) -> None: ...
