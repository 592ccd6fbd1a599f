"""Answers from a cut over chained queries: every one shows a state of all of them together.

Exercises ``server.cuts.service`` over ``server.cuts.taking``, with ``pull.kept_rows`` and
``pull.table_rows``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.server.cuts import service as module
from penstock.server.errors import ServerError
from penstock.server.pull.service import ANY_AGE
from tests.unit.server.cuts.query_world import ACCOUNTS, ChainedWorld

SUM = "SELECT SUM(balance) AS total FROM balance GROUP BY 'all';"
ROWS = "SELECT account, balance FROM balance;"
TOTAL = "SELECT total FROM total WHERE everything = 'all';"
CREDITS = "SELECT account, credits FROM credits;"
DEBITS = "SELECT account, debits FROM debits;"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChainedWorld]:
    monkeypatch.setattr(module, "_LEAST_S", 0.0)
    made = ChainedWorld(tmp_path)
    yield made
    made.close()
    assert made.topics.readers == []


def test_the_total_of_all_balances_is_0_in_every_answer(world: ChainedWorld) -> None:
    """Over four queries behind each other, while money moves, by scan, by key and by group."""
    numbers: set[int] = set()
    with world.moving():
        for _ in range(3_000):
            number, rows = world.pull(ROWS)
            assert len(rows) == ACCOUNTS
            assert sum(balance for _, balance in rows) == 0
            assert world.pull(SUM)[1] == [(0,)]
            assert world.pull(TOTAL)[1] == [(0,)]
            numbers.add(number)
            if len(numbers) == 10:
                return
    raise AssertionError(f"only {len(numbers)} cuts in so many answers")


def test_without_a_cut_totals_are_wrong(world: ChainedWorld) -> None:
    """This is what the cut is for: each table alone is as new as it can be."""
    seen: set[int] = set()
    with world.moving():
        world.pull(ROWS)
        for _ in range(2_000):
            bound = world.services.pull.plan(ROWS, {}, {})
            seen.add(sum(row[1] for row in world.services.pull.rows(bound, ANY_AGE)))
            if seen - {0}:
                break
    assert seen - {0}


def test_several_statements_read_the_same_cut(world: ChainedWorld) -> None:
    """Credits less debits are the balances, although three queries make them."""
    with world.moving():
        for sql in (CREDITS, DEBITS, ROWS):
            world.pull(sql)
        number, rows = world.pull(ROWS)
        plus, minus = (dict(world.pull(sql, number)[1]) for sql in (CREDITS, DEBITS))
    assert dict(rows) == {account: plus[account] - minus[account] for account in plus}


def test_a_query_that_begins_anew_spoils_no_cut(world: ChainedWorld) -> None:
    """Its stops are gone, so the cut under way is given up, and the next one holds."""
    with world.moving():
        for step in range(30):
            for sink in ("credits", "balance"):
                world.query(sink).begin_anew()
            _, rows = world.pull(ROWS)
            assert sum(balance for _, balance in rows) == 0, step


def test_a_query_that_hangs_holds_up_the_others_for_a_moment_only(
    world: ChainedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no newer cut; the last one answers, and all others go on."""
    monkeypatch.setattr(module, "_PATIENCE_S", 0.2)
    monkeypatch.setattr(module, "_FRESH_S", 0.0)
    with world.moving():
        number, _ = world.pull(ROWS)
        world.query("debits").is_stuck = True
        before = world.query("credits").positions["transactions", 0]
        for _ in range(3_000):
            later, rows = world.pull(ROWS)
            assert sum(balance for _, balance in rows) == 0
            if world.query("credits").positions["transactions", 0] > before + 50:
                break
            threading.Event().wait(0.005)
        else:
            raise AssertionError("credits did not go on")
        assert later >= number


def test_a_paused_query_is_left_out_with_all_behind_it(world: ChainedWorld) -> None:
    """Its tables do not contain what others have read; the answer says so."""
    catalog = world.host.engine.catalog
    paused = world.query("debits").id
    catalog.queries[paused] = replace(catalog.queries[paused], state="PAUSED")
    with pytest.raises(PenstockError, match=f"cuts do not contain BALANCE: query {paused} is paus"):
        world.pull(ROWS)
    assert len(world.pull(CREDITS)[1]) == ACCOUNTS


def test_a_stream_ends_where_the_cut_does(world: ChainedWorld) -> None:
    """Its records are those that the tables contain."""
    moved = "SELECT amount FROM transactions;"
    with world.moving():
        world.pull(moved)
        number, rows = world.pull(moved)
        world.pull(CREDITS)
        number, rows = world.pull(moved)
        _, plus = world.pull(CREDITS, number)
    assert sum(amount for (amount,) in rows) == sum(each for _, each in plus)


def test_a_cut_that_is_gone_is_named_with_those_that_are_there(world: ChainedWorld) -> None:
    number, _ = world.pull(ROWS)
    with pytest.raises(ServerError, match=rf"no cut 17 that could be read; it has .*{number}"):
        world.pull(ROWS, 17)


def test_a_word_that_is_no_cut_is_refused(world: ChainedWorld) -> None:
    with pytest.raises(ServerError, match="is 'newest', which is no cut"):
        world.pull(ROWS, "newest")
