"""A slot's full copy of all global tables, which does not change while a batch runs."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.errors import StoreError, StreamsError
from penstock.kernel.global_task import GlobalTask
from penstock.kernel.settings import TaskSettings
from penstock.kernel.stores import TaskStores
from penstock.model.record import Headers
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.worker.clients import Clients
from penstock.runtime.spark.worker.reader import Reader
from penstock.runtime.spark.worker.writer import Writer
from penstock.state.engine.rocks import OpenEngine, open_rocks


class DeadLetters:
    """Keep the dead letters of global records until they are written with a batch.

    Global stores have no other output. Every slot reads all global records, so only the first
    slot writes their letters.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[TopicPartition, int, tuple[Any, ...]]] = []
        #: The record that is being applied; None if its letters are written already.
        self.source: tuple[TopicPartition, int] | None = None

    def has_any(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Tell whether there are letters of records before these offsets."""
        return any(offset < ends.get(part, 0) for part, offset, _ in self._kept)

    def write(self, writer: Writer, ends: Mapping[TopicPartition, int]) -> None:
        """Send the letters of records before these offsets."""
        for part, offset, letter in self._kept:
            if offset < ends.get(part, 0):
                writer.send(*letter)

    def forget(self, ends: Mapping[TopicPartition, int]) -> None:
        """Drop the letters of records before these offsets: they are committed."""
        self._kept = [each for each in self._kept if each[1] >= ends.get(each[0], 0)]

    def clear(self) -> None:
        self._kept.clear()

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        if self.source is not None:
            letter = (topic, key, value, timestamp, headers, partition)
            self._kept.append((*self.source, letter))

    def partitions(self, topic: str) -> int:
        return 1


class GlobalCopy:
    """Read the global topics from their beginning to the offsets that a batch names.

    A batch that is replayed must see the tables as its first run did. If the copy has already
    read further than that, it is built again from the beginning.

    Args:
        slot: the slot whose copy this is; None for one that only answers queries.
    """

    def __init__(
        self,
        application: Application,
        settings: TaskSettings,
        slot: int | None,
        clients: Clients,
        open_engine: OpenEngine = open_rocks,
    ) -> None:
        self._open_engine = open_engine
        self._clients = clients
        self._settings = settings
        self._graph = application.plan.graph
        folder = Path(application.state_dir) / application.id / "global"
        folder = folder / ("queries" if slot is None else f"slot-{slot}")
        self._directory = folder
        self._task: GlobalTask | None = None
        self._reader: Reader | None = None
        self._position: dict[TopicPartition, int] = {}
        self._is_first_slot = slot == 0
        self.letters = DeadLetters()
        self.stores: dict[str, Any] = {}

    def catch_up(
        self, ends: Mapping[TopicPartition, int], start: Mapping[TopicPartition, int]
    ) -> None:
        """Read up to ``ends``; dead letters of records before ``start`` are not kept."""
        if not self._graph.global_stores:
            return
        self.letters.forget(start)
        if self._task is None or any(self._position.get(p, 0) > e for p, e in ends.items()):
            self._build(ends)
        try:
            self._apply(ends, start)
        except StreamsError as error:
            if error.code != "offset-out-of-range":
                raise
            # Kafka has deleted records that come next. As in Kafka Streams, the table then consists
            # of what its topic still has.
            self._build(ends)
            self._apply(ends, start)

    def _apply(
        self, ends: Mapping[TopicPartition, int], start: Mapping[TopicPartition, int]
    ) -> None:
        assert self._task is not None
        assert self._reader is not None
        wanted = {part: (self._position.get(part, 0), end) for part, end in ends.items()}
        records = self._reader.read({p: span for p, span in wanted.items() if span[0] < span[1]})
        for part, batch in records.items():
            for record in batch:
                is_new = self._is_first_slot and record.offset >= start.get(part, 0)
                self.letters.source = (part, record.offset) if is_new else None
                self._task.update(record)
        self._position.update(ends)

    def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            with contextlib.suppress(StoreError):
                # A database that has failed may also fail to close. It is deleted anyway.
                task.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        shutil.rmtree(self._directory, ignore_errors=True)

    def _build(self, ends: Mapping[TopicPartition, int]) -> None:
        """Begin again with empty stores, at the first offset that each topic still has."""
        self.close()
        lows = {part: self._clients.watermarks(*part, is_own=False)[0] for part in ends}
        self._position = {part: min(lows[part], end) for part, end in ends.items()}
        self.letters.clear()
        stores = TaskStores(
            [store.spec for store in self._graph.global_stores.values()],
            settings=self._settings,
            engine=lambda name: self._open_engine(
                self._directory / name, name, self._settings.configs
            ),
            changelog=lambda store: None,
        )
        self._task = GlobalTask(
            self._graph, settings=self._settings, collector=self.letters, stores=stores,
            wall_clock=lambda: 0,
        )  # fmt: skip
        self._reader = self._clients.global_reader()
        self.stores.clear()
        self.stores.update(stores.own)
