"""Which queries a cut covers, and in which order it comes to them."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from penstock.server.cuts.coverage import QueryPlace, coverage

PART: Any = cast("Any", object())


def query(name: str, reads: str, sink: str, *, why: str = "") -> QueryPlace:
    part = None if why else PART
    return QueryPlace(name, frozenset(reads.split()), sink, part, why)


def order(*queries: QueryPlace) -> list[tuple[str, list[str]]]:
    return [(sink, [each.id for each in of]) for sink, of in coverage(queries).stages]


def test_a_query_comes_after_those_that_it_reads_from() -> None:
    """Also if it reads one of them over another one; writers of one topic come together."""
    found = order(
        query("total", "balance", "total"),
        query("balance", "credits debits", "balance"),
        query("late", "corrections", "credits"),
        query("credits", "payments", "credits"),
        query("debits", "payments", "debits"),
    )
    assert found == [
        ("credits", ["credits", "late"]),
        ("debits", ["debits"]),
        ("balance", ["balance"]),
        ("total", ["total"]),
    ]


def test_what_depends_on_a_query_without_a_part_is_left_out_with_its_reason() -> None:
    """So is a topic that such a query writes together with another one."""
    found = coverage(
        [
            query("a", "in", "both"),
            query("b", "in", "both", why="query b is paused"),
            query("c", "both in", "behind"),
            query("d", "in", "fine"),
        ]
    )
    assert [each.id for each in found.queries] == ["d"]
    assert found.left_out == {"both": "query b is paused", "behind": "query b is paused"}


def test_queries_that_feed_each_other_are_left_out() -> None:
    """Nobody knows which of them comes first."""
    found = coverage([query("a", "x", "y"), query("b", "y", "x"), query("c", "in", "z")])
    assert [each.id for each in found.queries] == ["c"]
    assert found.left_out["x"] == "what a, b write goes round in a circle"


TOPICS = st.sampled_from("stuvw")


@given(st.lists(st.tuples(st.sets(TOPICS, min_size=1), TOPICS, st.booleans()), max_size=6))
def test_no_query_comes_before_a_writer_of_what_it_reads(
    given_queries: list[tuple[set[str], str, bool]],
) -> None:
    """And every query is either in its place, or its topic is left out."""
    queries = [
        QueryPlace(f"q{n}", frozenset(reads), sink, PART if runs else None, "" if runs else "off")
        for n, (reads, sink, runs) in enumerate(given_queries)
    ]
    found = coverage(queries)
    written = {query.sink for query in queries}
    done: set[str] = set()
    for sink, of in found.stages:
        assert {each.id for each in of} == {each.id for each in queries if each.sink == sink}
        for each in of:
            assert each.part is not None
            assert each.reads & written <= done
        done.add(sink)
    assert done | found.left_out.keys() == written
    assert not done & found.left_out.keys()
