"""ROW_TTL of a table: rows that are deleted when they are old."""

import pytest

from tests.unit.sql.queries import ORDERS, refusal, running

SEEN = (
    "CREATE TABLE seen (name VARCHAR PRIMARY KEY, kind VARCHAR) WITH"
    " (KAFKA_TOPIC='seen', KEY_FORMAT='JSON', VALUE_FORMAT='JSON', ROW_TTL='10 MILLISECONDS');"
)


def test_a_row_goes_when_stream_time_reaches_its_end() -> None:
    """A new row for the key renews it; the deletion has the time at which the row ended."""
    create = "CREATE TABLE x AS SELECT name, kind FROM seen;"
    with running(SEEN, create) as script:
        script.pipe("seen", "fig", {"kind": "a"}, 0)
        script.pipe("seen", "nut", {"kind": "b"}, 5)
        script.pipe("seen", "fig", {"kind": "c"}, 9)
        script.pipe("seen", "kiwi", {"kind": "d"}, 15)
        script.pipe("seen", "kiwi", {"kind": "e"}, 40)
        written = list(zip(script.times("X"), script.read("X"), strict=True))
        assert [(time, key, row and row["KIND"]) for time, (key, row) in written] == [
            (0, "fig", "a"),
            (5, "nut", "b"),
            (9, "fig", "c"),
            (15, "nut", None),
            (15, "kiwi", "d"),
            (19, "fig", None),
            (25, "kiwi", None),
            (40, "kiwi", "e"),
        ]


def test_aggregates_take_expired_rows_back() -> None:
    """A count is that of the rows which are there."""
    create = "CREATE TABLE x AS SELECT kind, COUNT(*) AS n FROM seen GROUP BY kind;"
    with running(SEEN, create) as script:
        script.pipe("seen", "fig", {"kind": "a"}, 0)
        script.pipe("seen", "nut", {"kind": "a"}, 5)
        script.pipe("seen", "oak", {"kind": "b"}, 12)
        script.pipe("seen", "oak", None, 13)
        assert script.read("X") == [
            ("a", {"N": 1}),
            ("a", {"N": 2}),
            ("a", {"N": 1}),
            ("b", {"N": 1}),
            ("b", {"N": 0}),
        ]


def test_late_rows_are_over_at_once() -> None:
    """A row that is too old deletes what was there; without one it leaves no trace."""
    create = "CREATE STREAM x AS SELECT name, change FROM CHANGES(seen);"
    with running(SEEN, create) as script:
        script.pipe("seen", "fig", {"kind": "a"}, 50)
        script.pipe("seen", "nut", {"kind": "b"}, 40)
        script.pipe("seen", "fig", {"kind": "b"}, 30)
        script.pipe("seen", None, {"kind": "b"}, 70)
        assert [(key, row["CHANGE"]) for key, row in script.read("X")] == [
            ("fig", "INSERT"),
            ("fig", "DELETE"),
        ]


def test_pull_queries_do_not_see_expired_rows() -> None:
    """They ask for the rows at the latest time of the topic."""
    with running(SEEN) as script:
        for time, name in enumerate(["fig", "nut"]):
            script.pipe("seen", name, {"kind": "a"}, time)
        script.pipe("seen", "oak", {"kind": "a"}, 10)
        rows = script.engine.pull("SELECT name FROM seen ORDER BY name;").rows
        assert rows(script.queries.records) == [{"NAME": "nut"}, {"NAME": "oak"}]


@pytest.mark.parametrize(
    "statement",
    [
        ORDERS.replace("VALUE_FORMAT", "ROW_TTL='1 DAY', VALUE_FORMAT"),
        SEEN.replace("'10 MILLISECONDS'", "'10'"),
        SEEN.replace("ROW_TTL", "WINDOW_TYPE='SESSION', ROW_TTL"),
    ],
)
def test_what_cannot_expire_is_refused(statement: str) -> None:
    """Streams and windows have a retention."""
    assert refusal(statement).code == "bad-property"
