"""Answers from a cut over chained queries: every one shows a state of all of them together.

Exercises ``server.cuts.service`` over ``server.cuts.taking``, with ``server.pull.kept_rows``,
``pull.table_rows`` and ``push.cut_feed``.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from penstock.errors import PenstockError, UnavailableError
from penstock.server.cuts import service as module
from penstock.server.errors import BadStatementError, ServerError
from penstock.server.pull import kept_rows
from penstock.server.pull.service import ANY_AGE
from tests.unit.server.cuts.query_world import ACCOUNTS, ChainedWorld

SUM = "SELECT SUM(balance) AS total FROM balance GROUP BY 'all';"
ROWS = "SELECT account, balance FROM balance;"
TOTAL = "SELECT total FROM total WHERE everything = 'all';"
CREDITS = "SELECT account, credits FROM credits;"
DEBITS = "SELECT account, debits FROM debits;"
TOTALS = "SELECT total FROM total EMIT CHANGES;"
CHANGES = "SELECT account, balance FROM balance EMIT CHANGES;"
SUMS = "SELECT SUM(balance) AS total FROM balance GROUP BY 'all' EMIT CHANGES;"


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


def test_a_cut_that_is_gone_is_named_with_the_oldest_and_the_newest(
    world: ChainedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LEAST_S", 0.2)
    number, _ = world.pull(ROWS)
    with pytest.raises(
        ServerError,
        match=r"no cut 17 that could be read: the oldest is (\d+), and the newest is (\d+)",
    ) as refused:
        world.ask(of_cut(ROWS, 17))
    oldest, newest = (int(text) for text in re.findall(r"is (\d+)", refused.value.message))
    assert oldest <= number <= newest


def test_a_statement_names_the_cut_that_it_reads(world: ChainedWorld) -> None:
    """By number or as LATEST; over the setting, which the statement may differ from."""
    with world.moving():
        for sql in (CREDITS, DEBITS, ROWS):
            world.pull(sql)
        number, rows = world.ask(of_cut(ROWS, "LATEST"))
        for settings in ({}, {"penstock.read.cut": "17"}):
            found, plus = world.ask(of_cut(CREDITS, number), settings)
            assert found == number
        _, minus = world.ask(of_cut(DEBITS, number))
        assert world.ask(of_cut(SUM, number)) == (number, [(0,)])
    taken = dict(minus)
    assert dict(rows) == {account: amount - taken[account] for account, amount in plus}


def of_cut(sql: str, cut: str | int) -> str:
    return f"{sql.removesuffix(';')} AS OF CUT {cut};"


def test_a_word_that_is_no_cut_is_refused(world: ChainedWorld) -> None:
    with pytest.raises(ServerError, match="is 'newest', which is no cut"):
        world.pull(ROWS, "newest")


@pytest.mark.parametrize(
    ("sql", "settings"),
    [(TOTALS, {"penstock.read.cut": "latest"}), (f"{TOTALS[:-1]} AS OF CUT LATEST;", {})],
)
def test_a_push_query_gets_whole_cuts(
    world: ChainedWorld, sql: str, settings: dict[str, str]
) -> None:
    """No row of the total is one that was there only between two queries."""
    totals = asyncio.run(pushed(world, sql, 6, settings))
    assert totals == [[(0,)]] * 6


def test_the_changes_of_a_cut_come_together(world: ChainedWorld) -> None:
    """Applied one after the other they are the rows of cuts, which add up to 0."""
    rows: dict[int, int] = {}
    for delivery in asyncio.run(pushed(world, CHANGES, 6)):
        rows |= dict(delivery)
        assert sum(rows.values()) == 0
    assert len(rows) == ACCOUNTS


def test_a_push_query_that_no_cut_can_answer_is_refused(world: ChainedWorld) -> None:
    """It would keep state of its own, from records between two cuts."""
    for sql in (SUMS, "SELECT amount FROM transactions EMIT CHANGES;"):
        with pytest.raises(BadStatementError, match="a push query selects rows of one table"):
            world.services.push.plan(sql, {"penstock.read.cut": "latest"}, {}, {})
    with pytest.raises(BadStatementError, match="gets those of new cuts only"):
        world.services.push.plan(of_cut(TOTALS, 17), {}, {}, {})


LATEST_CUT = MappingProxyType({"penstock.read.cut": "latest"})


async def pushed(
    world: ChainedWorld, sql: str, count: int, given: Mapping[str, str] = LATEST_CUT
) -> list[list[tuple[Any, ...]]]:
    """Return the first deliveries of a push query over cuts, while money moves."""
    push = world.services.push
    settings = {"auto.offset.reset": "earliest", **given}
    found: list[list[tuple[Any, ...]]] = []
    with world.moving():
        opened = push.open(push.plan(sql, settings, {}, {}), asyncio.get_running_loop())
        try:
            async with asyncio.timeout(60):
                async for delivery in opened.subscription.deliveries(30.0):
                    assert delivery is not None
                    rows = delivery.batch.rows[delivery.first : delivery.last]
                    found.append([tuple(row.columns) for row in rows])
                    if len(found) == count:
                        return found
        finally:
            await asyncio.to_thread(push.close, opened)
    raise AssertionError(f"the query ended: {opened.subscription.failure}")


def test_a_cut_whose_rows_were_overwritten_too_often_is_given_up(
    world: ChainedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded; the next cut answers instead."""
    monkeypatch.setattr(kept_rows, "_MOST_UNDONE", 1)
    with world.moving():
        number, _ = world.pull(ROWS)
        for _ in range(3_000):
            # Between the choice of a cut and its first row, it may be given up.
            with contextlib.suppress(UnavailableError):
                later, rows = world.pull(ROWS)
                assert sum(balance for _, balance in rows) == 0
                if later > number:
                    return
            threading.Event().wait(0.005)
    raise AssertionError("there was no later cut")
