"""A dead letter topic in memory, and letters as a runtime writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import PenstockError
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.processor.handlers import ErrorHandlerContext, dead_letters
from penstock.serde.serdes import Serdes
from penstock.serving.failed.values import Delivery, Letter, Letters, Outgoing, SourceSerdes


def letter(
    offset: int,
    error: Exception,
    *,
    node: str = "price",
    topic: str = "orders",
    partition: int = 0,
    key: bytes | None = b"o-1",
    value: bytes | None = b'{"amount":1}',
    headers: Headers = (),
) -> Letter:
    """Return what the built-in handlers write when a node fails on a record of partition 3."""
    context = ErrorHandlerContext(
        topic, 3, 100 + offset, headers, 1_000 + offset, node, TaskId(0, 3), key, value, "dead"
    )
    (made,) = dead_letters(context, error)
    return Letter(
        partition=partition, offset=offset, timestamp=made.timestamp or 0, key=made.key,
        value=made.value, headers=made.headers,
    )  # fmt: skip


class MemoryLetters:
    """Reads letters that a test appends, and keeps what is sent."""

    topic = "dead"

    def __init__(self, *letters: Letter) -> None:
        self.letters = list(letters)
        self.records: list[Outgoing] = []
        #: By key: why a record cannot be delivered.
        self.refuses: Mapping[bytes | None, str] = {}
        self.failure: PenstockError | None = None
        self.known = {
            "orders": SourceSerdes(key=Serdes.string(), value=Serdes.json()),
            "counts": SourceSerdes(key=Serdes.string(), value=Serdes.long()),
            "app-by-user-repartition": SourceSerdes(
                key=Serdes.string(), value=Serdes.json(), is_internal=True
            ),
        }

    def latest(self, most: int) -> Letters:
        if self.failure is not None:
            raise self.failure
        ends: dict[int, int] = {}
        for each in self.letters:
            ends[each.partition] = max(ends.get(each.partition, 0), each.offset + 1)
        found = [each for each in self.letters if each.offset >= ends[each.partition] - most]
        return Letters(letters=found, is_whole=len(found) == len(self.letters))

    def one(self, partition: int, offset: int) -> Letter | None:
        return next((each for each in self.letters if each.place == (partition, offset)), None)

    def serdes(self, topic: str) -> SourceSerdes | None:
        return self.known.get(topic)

    def site(self, node: str) -> str | None:
        return "shop.py:28" if node == "price" else None

    def send(self, records: Sequence[Outgoing], patience_s: float) -> Sequence[Delivery]:
        found = []
        for record in records:
            why = self.refuses.get(record.key)
            if why is None:
                self.records.append(record)
                found.append(Delivery(partition=record.partition or 0, offset=len(self.records)))
            else:
                found.append(Delivery(error=why))
        return found


def body(value: Any) -> bytes:
    return json.dumps(value).encode()
