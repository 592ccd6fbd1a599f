"""Each Nexmark query has the rows that DuckDB computes, by record and over columns."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from bench.nexmark.compare import differences
from bench.nexmark.duck import Duck
from bench.nexmark.events import events
from bench.nexmark.queries import NAMES, side_input
from tests.nexmark.in_process import InProcess

#: Twenty a second, so that no two have the same time, and windows of ten seconds come and go.
EVENTS = list(events(2_000, per_second=20))
SIDE_INPUT = side_input(len(EVENTS))


@pytest.fixture(scope="module")
def duck() -> Iterator[Duck]:
    found = Duck(EVENTS, SIDE_INPUT)
    yield found
    found.close()


def _of_all_windows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add up the windows of the clock, which may move on while the query runs."""
    totals: Counter[int] = Counter()
    for row in rows:
        totals[row["BIDDER"]] += row["BID_COUNT"]
    return [{"BIDDER": bidder, "BID_COUNT": count} for bidder, count in totals.items()]


@pytest.mark.parametrize("vectorize", ["off", "strict"])
@pytest.mark.parametrize("name", NAMES)
def test_query_has_the_rows_of_duckdb(name: str, vectorize: str, duck: Duck) -> None:
    """The last row of each key of a table, and all rows of a stream."""
    expected = duck.rows(name)
    found = InProcess(EVENTS, SIDE_INPUT, vectorize=vectorize).rows(name)
    if name == "q12":
        found = _of_all_windows(found)
    assert len(expected) > 0
    assert differences(found, expected) == []
