"""A batch of one task as columns: keys, values, timestamps and headers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from typing import Any

import numpy as np

from penstock.kernel.columns.batch_column import BatchColumn, Places, Times
from penstock.model.record import Headers

#: Topic and partition.
Source = tuple[str, int]


class NotProvenError(Exception):
    """Says why columns may not have the results of single records; the batch runs by record."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Where records come from, for nodes that ask for the record's context.

    ``sources`` has topic and partition of each record if they differ. Then ``topic`` and
    ``partition`` are those of the first record. ``stream_times`` has the task's stream time at each
    record, if processors of the user see it.
    """

    topic: str
    partition: int
    offsets: Places
    sources: Sequence[Source] | None = None
    stream_times: Times | None = None

    def at(self, places: Places) -> Origins:
        sources = self.sources
        if sources is not None:
            sources = [sources[place] for place in places.tolist()]
        times = None if self.stream_times is None else self.stream_times[places]
        return Origins(self.topic, self.partition, self.offsets[places], sources, times)

    def each_source(self) -> Iterable[Source]:
        """Return topic and partition of each record."""
        if self.sources is not None:
            return self.sources
        return repeat((self.topic, self.partition), len(self.offsets))


def origins_of(sources: Sequence[Source], offsets: Places) -> Origins:
    """Return the origins of records, given topic and partition of each; there is at least one."""
    topic, partition = sources[0]
    return Origins(topic, partition, offsets, sources if len({*sources}) > 1 else None)


@dataclass(slots=True)
class Batch:
    """Records in the order in which they are processed.

    ``headers`` is ``None`` if no record has headers. ``origins`` is ``None`` if no node asks for
    them. ``order`` has the places of the records among those of all inputs of the task, if a later
    node joins inputs. The records of a table are its changes: ``values`` are the new values, and
    ``old`` those that they replace, if a later node needs them.
    """

    keys: BatchColumn
    values: BatchColumn
    timestamps: Times
    headers: Sequence[Headers] | None = None
    origins: Origins | None = None
    order: Places | None = None
    old: BatchColumn | None = None

    def __len__(self) -> int:
        return len(self.timestamps)

    def with_columns(
        self, keys: BatchColumn, values: BatchColumn, old: BatchColumn | None = None
    ) -> Batch:
        """Return the same records with other keys and values."""
        return Batch(keys, values, self.timestamps, self.headers, self.origins, self.order, old)

    def repeated(
        self,
        keys: BatchColumn,
        values: BatchColumn,
        places: Places,
        old: BatchColumn | None = None,
    ) -> Batch:
        """Return other keys and values with the timestamps and headers of the records at places."""
        headers = self.headers
        if headers is not None:
            headers = [headers[place] for place in places.tolist()]
        origins = None if self.origins is None else self.origins.at(places)
        order = None if self.order is None else self.order[places]
        return Batch(keys, values, self.timestamps[places], headers, origins, order, old)

    def keep(self, mask: Sequence[Any]) -> Batch:
        """Return the records where the mask is true."""
        places = np.flatnonzero(np.fromiter(map(bool, mask), bool, len(mask)))
        return Batch(
            self.keys.keep(mask), self.values.keep(mask), self.timestamps[places],
            None if self.headers is None else [*compress(self.headers, mask)],
            None if self.origins is None else self.origins.at(places),
            None if self.order is None else self.order[places],
            None if self.old is None else self.old.keep(mask),
        )  # fmt: skip

    def take(self, places: Places) -> Batch:
        """Return the records at these places, in this order."""
        wanted = places.tolist()
        keys = self.keys.take(wanted)
        values = keys if self.values is self.keys else self.values.take(wanted)
        old = None if self.old is None else self.old.take(wanted)
        return self.repeated(keys, values, places, old)
