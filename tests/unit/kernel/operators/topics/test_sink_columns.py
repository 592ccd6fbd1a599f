"""Columns go to the partitions that single records go to, each with all that belongs to it."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.kernel.raw_columns import RawColumns
from penstock.model.windows.windowed import Window, Windowed
from tests.properties import cut_runs

WINDOWED = ps.WindowedSerdes.time_windowed("string", "10s")
Row = tuple[bytes | None, bytes | None, int, Any, int | None]


class Partitioned(cut_runs.Collector):
    """Keeps the partition and the headers of each record, too."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Any,
        partition: int | None = None,
    ) -> None:
        self.rows.append((key, value, timestamp, headers, partition))

    def send_columns(
        self,
        topic: str,
        keys: Any,
        values: Any,
        timestamps: Any,
        headers: Any,
        partition: int | None = None,
    ) -> None:
        each = headers or [()] * len(keys)
        for row in zip(keys, values, timestamps, each, strict=True):
            self.send(topic, *row, partition)

    def partitions(self, topic: str) -> int:
        return 3


def sent(given: RawColumns, vectorize: str, monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    monkeypatch.setattr(cut_runs, "Collector", Partitioned)
    builder = ps.StreamsBuilder()
    stream = builder.stream("in", key=WINDOWED, value="string")
    stream.to("out", key=WINDOWED, value="string")
    graph = builder.build().graph
    run = cut_runs.CutRun(graph, extractor="FailOnInvalidTimestamp", vectorize=vectorize)
    run.task.run_batch([("in", given)])
    columns = run.task.columns
    assert (columns.batches if columns is not None else 0) == (vectorize == "strict")
    assert isinstance(run._collector, Partitioned)
    return run._collector.rows


@pytest.mark.parametrize("has_headers", [False, True])
@pytest.mark.parametrize("count", [1, 9])
def test_windows_of_a_key_go_to_the_partition_of_the_key(
    count: int, has_headers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their order; a record without a key may go anywhere."""
    windows = [Window(start, start + 10_000) for start in (0, 10_000, 20_000)]
    keys = [WINDOWED.encode(Windowed(key, window)) for window in windows for key in "abc"]
    wanted: list[bytes | None] = [*keys[: count - 1], None]
    values = [f"v{n}".encode() for n in range(count)]
    headers = [(("h", bytes([n])),) for n in range(count)] if has_headers else None
    given = RawColumns(
        "in", 0, range(count), [n * 7 for n in range(count)], wanted, values, headers
    )
    by_record, over_columns = (sent(given, way, monkeypatch) for way in ("off", "strict"))
    assert sorted(over_columns, key=repr) == sorted(by_record, key=repr)
    for partition in (None, 0, 1, 2):
        of_one = [
            [row for row in rows if row[4] == partition] for rows in (by_record, over_columns)
        ]
        assert of_one[0] == of_one[1]
    assert len({row[4] for row in over_columns}) == (1 if count == 1 else 3)
