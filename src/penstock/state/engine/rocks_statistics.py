"""RocksDB's own counters, under the names that Kafka Streams gives its metrics.

They are in a text, one line for each: ``rocksdb.memtable.hit COUNT : 5``, or for a histogram
``rocksdb.db.flush.micros P50 : 1.0 … COUNT : 2 SUM : 3``. All are since the database was opened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_LINE = re.compile(r"^rocksdb\.(\S+) .*?COUNT : (\d+)(?: SUM : (\d+))?$", re.MULTILINE)

#: By metric: the counter that it is.
_TOTALS = {
    "bytes-written-total": "bytes.written",
    "bytes-read-total": "bytes.read",
    "memtable-bytes-flushed-total": "flush.write.bytes",
    "bytes-written-compaction-total": "compact.write.bytes",
    "bytes-read-compaction-total": "compact.read.bytes",
    "number-file-errors-total": "no.file.errors",
}
#: By metric: hits and misses. A ratio without reads is left out.
_RATIOS = {
    "memtable-hit-ratio": ("memtable.hit", "memtable.miss"),
    "block-cache-data-hit-ratio": ("block.cache.data.hit", "block.cache.data.miss"),
    "block-cache-index-hit-ratio": ("block.cache.index.hit", "block.cache.index.miss"),
    "block-cache-filter-hit-ratio": ("block.cache.filter.hit", "block.cache.filter.miss"),
}
#: By metric: a histogram in microseconds, whose average is shown in milliseconds.
_AVERAGES = {
    "memtable-flush-time-avg": "db.flush.micros",
    "compaction-time-avg": "compaction.times.micros",
}
STATISTICS = (*_TOTALS, "write-stall-duration-total", *_RATIOS, *_AVERAGES)


def statistics_in(text: str) -> dict[str, float]:
    """Return the metrics that RocksDB's text of statistics tells.

    >>> lines = "rocksdb.memtable.hit COUNT : 3", "rocksdb.memtable.miss COUNT : 1"
    >>> statistics_in(chr(10).join(lines))
    {'memtable-hit-ratio': 0.75}
    """
    counts, sums = dict[str, int](), dict[str, int]()
    for name, count, total in _LINE.findall(text):
        counts[name] = int(count)
        sums[name] = int(total or 0)
    found: dict[str, float] = {
        metric: counts[name] for metric, name in _TOTALS.items() if name in counts
    }
    if "stall.micros" in counts:
        found["write-stall-duration-total"] = counts["stall.micros"] / 1000
    return found | _ratios(counts) | _averages(counts, sums)


def _ratios(counts: Mapping[str, int]) -> dict[str, float]:
    found = {}
    for metric, (hits, misses) in _RATIOS.items():
        reads = counts.get(hits, 0) + counts.get(misses, 0)
        if reads:
            found[metric] = counts.get(hits, 0) / reads
    return found


def _averages(counts: Mapping[str, int], sums: Mapping[str, int]) -> dict[str, float]:
    return {
        metric: sums[name] / counts[name] / 1000
        for metric, name in _AVERAGES.items()
        if counts.get(name)
    }
