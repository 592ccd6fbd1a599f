"""A page out of several partitions is the page of one sorted list, however keys are spread."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("msgspec", reason="needs penstock-streams[server]")

from penstock.serving.application import Row
from penstock.serving.parameters import Parameters
from penstock.serving.peer_client import PeerClient
from penstock.serving.question import RangeQuestion
from penstock.serving.store_reader import Asked, Page, StoreReader
from tests.unit.serving.memory_application import MemoryApplication, one_instance, store_info

#: Keys of which all are in one partition, and keys of all partitions.
INFO = store_info("counts", partitions=3)


def application(keys: list[str]) -> MemoryApplication:
    made = one_instance(INFO)
    made.cluster.put("counts", *(Row(key, key) for key in keys))
    return made


def page(made: MemoryApplication, limit: int, *, reverse: bool, after: bytes | None) -> Page:
    given = Parameters(reverse=reverse, limit=limit, after=after)
    asked = Asked(INFO, b"/stores/counts", b"", given, {})
    question = RangeQuestion(limit=limit, reverse=reverse, after=after)

    async def read() -> Page:
        with ThreadPoolExecutor(1) as threads:
            return await StoreReader(made, PeerClient(), threads).page(
                asked, range(3), question, limit
            )

    return asyncio.run(read())


KEYS = [f"k{number:03d}" for number in range(200)]
ALONE = [key for key in KEYS if one_instance(INFO).cluster.partition("counts", key) == 1]


@given(
    st.sets(st.sampled_from(KEYS)) | st.sets(st.sampled_from(ALONE)),
    st.integers(1, 60),
    st.booleans(),
)
def test_pages_are_slices_of_the_sorted_keys(keys: set[str], limit: int, reverse: bool) -> None:
    made = application(sorted(keys))
    expected = sorted(keys, reverse=reverse)
    found: list[str] = []
    after = None
    while True:
        part = page(made, limit, reverse=reverse, after=after)
        found += [row.key for _, row in part.rows if isinstance(row, Row)]
        assert found == expected[: len(found)]
        assert part.has_more == (len(found) < len(expected))
        assert [source.partition for source in part.sources] == [0, 1, 2]
        if not part.has_more:
            break
        assert len(part.rows) == limit
        after = part.rows[-1][0]
    assert found == expected


def test_partitions_are_read_only_as_far_as_the_page_reaches() -> None:
    made = application(KEYS)
    page(made, 60, reverse=False, after=None)
    assert made.rows_read < 110
