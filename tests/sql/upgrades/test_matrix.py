"""Changes to a script that is fresh, stopped or running: right numbers, or a clear refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.errors import PenstockError, TopologyError
from penstock.model.sql.errors import SqlError
from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql import SqlEngine
from penstock.sql.queries.local_cluster import ClusterQueries, LocalCluster
from tests.sql.upgrades.cases import CASES, INPUT, KINDS, Case
from tests.sql.upgrades.recomputation import Grouped, Order, Recomputation, Written

HALF = len(INPUT) // 2
FIRST, SECOND = INPUT[:HALF], INPUT[HALF:]


def every(*cases: Case) -> Any:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


def replacing(script: str) -> str:
    """The script with CREATE OR REPLACE for every query."""
    for made in ("TABLE totals", "TABLE minutes", "STREAM picked"):
        script = script.replace(f"CREATE {made}", f"CREATE OR REPLACE {made}")
    return script


def feed(cluster: LocalCluster, orders: tuple[Order, ...], script: str) -> None:
    """Write records to the topics that the script reads, in the columns and format it says."""
    if "CREATE TABLE items" in script and not cluster.topic("items"):
        table = "items2" if "KAFKA_TOPIC='items2'" in script else "items"
        for name, kind in KINDS.items():
            cluster.send(table, json.dumps(name).encode(), json.dumps({"KIND": kind}).encode())
    topic = "others" if "KAFKA_TOPIC='others'" in script else "orders"
    shop = {"SHOP": 7} if "shop INT" in script else {}
    for order in orders:
        columns = {"ITEM": order.item, "REGION": order.region, **shop, "PRICE": order.price}
        is_line = "VALUE_FORMAT='DELIMITED', PARTITIONS" in script
        value = ",".join(map(str, columns.values())) if is_line else json.dumps(columns)
        cluster.send(topic, json.dumps(order.id).encode(), value.encode(), order.time)


def run(cluster: LocalCluster, script: str) -> None:
    """Run a script from its start to its end, as a process of its own would."""
    engine = SqlEngine()
    engine.execute(script)
    with ClusterQueries(engine, cluster) as queries:
        queries.run_until_idle()


def written(cluster: LocalCluster, case: Case) -> list[Written]:
    topic = "t" if "KAFKA_TOPIC='t'" in case.new and not cluster.topic(case.sink) else case.sink
    return [_row(record, case) for record in cluster.topic(topic)]


def _row(record: ProducedRecord, case: Case) -> Written:
    assert record.key is not None
    key: Any
    # Keys in windows end in the start of the window.
    if isinstance(case.spec, Grouped) and case.spec.window_ms is not None:
        key = json.loads(record.key[:-8]), int.from_bytes(record.key[-8:], "big")
    else:
        key = json.loads(record.key)
    if record.value is None:
        return key, None
    if "VALUE_FORMAT='DELIMITED'" in case.new:
        names = [name for name, _ in case.spec.columns]
        cells = record.value.decode().split(",")
        return key, {n: int(c) if c.isdigit() else c for n, c in zip(names, cells, strict=True)}
    return key, json.loads(record.value)


def after_change(case: Case) -> list[Written]:
    """What was written before the change by the old script, and behind it by the new one."""
    made = Recomputation()
    return made.rows(case.before, FIRST) + made.rows(case.spec, SECOND)


@every(*CASES)
def test_fresh_script_writes_what_it_says(case: Case) -> None:
    """The recomputation agrees with the script where no state is in the way."""
    cluster = LocalCluster()
    feed(cluster, INPUT, case.new)
    run(cluster, case.new)
    assert written(cluster, case) == Recomputation().rows(case.spec, INPUT)


@every(*[case for case in CASES if "plain" in case.continues])
def test_stopped_script_continues_with_right_numbers(case: Case) -> None:
    """Rows behind the change are those that the new script would have written all along."""
    cluster = LocalCluster()
    feed(cluster, FIRST, case.old)
    run(cluster, case.old)
    feed(cluster, SECOND, case.new)
    run(cluster, case.new)
    assert written(cluster, case) == after_change(case)
    afresh = Recomputation()
    afresh.rows(case.spec, FIRST)
    assert written(cluster, case)[HALF:] == afresh.rows(case.spec, SECOND)


@every(*[case for case in CASES if "plain" not in case.continues])
def test_stopped_script_is_refused_with_what_changed_and_the_ways_out(case: Case) -> None:
    """Nothing is touched: the old script goes on as if nothing had been tried."""
    cluster = LocalCluster()
    feed(cluster, FIRST, case.old)
    run(cluster, case.old)
    feed(cluster, SECOND, case.old)
    with pytest.raises(TopologyError) as caught:
        run(cluster, case.new)
    assert caught.value.code == "plan-changed"
    assert [text for text in case.told if text not in str(caught.value)] == []
    assert "penstock reset" in str(caught.value.fix)
    assert ("CREATE OR REPLACE" in str(caught.value.fix)) == ("replace" in case.continues)
    run(cluster, case.old)
    unchanged = Case(case.name, case.old, case.old, case.before, case.before, sink=case.sink)
    assert written(cluster, unchanged) == Recomputation().rows(case.before, INPUT)


@every(*[case for case in CASES if "replace" in case.continues])
@pytest.mark.parametrize("is_running", [True, False], ids=["running", "stopped"])
def test_replaced_query_continues_with_what_it_has(case: Case, is_running: bool) -> None:
    """CREATE OR REPLACE keeps the state and applies the change to records from now on."""
    cluster = LocalCluster()
    feed(cluster, FIRST, case.old)
    engine = SqlEngine()
    engine.execute(case.old)
    with ClusterQueries(engine, cluster) as queries:
        queries.run_until_idle()
        if is_running:
            engine.execute(_queries_of(replacing(case.new)))
            feed(cluster, SECOND, case.new)
            queries.run_until_idle()
    if not is_running:
        feed(cluster, SECOND, case.new)
        run(cluster, replacing(case.new))
    assert written(cluster, case) == after_change(case)


@every(*[case for case in CASES if not case.continues])
@pytest.mark.parametrize("is_running", [True, False], ids=["running", "stopped"])
def test_replacement_that_state_would_not_survive_is_refused(case: Case, is_running: bool) -> None:
    """The running query goes on as it was."""
    cluster = LocalCluster()
    feed(cluster, FIRST, case.old)
    engine = SqlEngine()
    engine.execute(case.old)
    with ClusterQueries(engine, cluster) as queries:
        queries.run_until_idle()
        if is_running:
            everything = case.new.replace("CREATE ", "CREATE OR REPLACE ")
            with pytest.raises(SqlError) as refused:
                engine.execute(everything)
            assert refused.value.code == "cannot-upgrade"
        feed(cluster, SECOND, case.old)
        queries.run_until_idle()
    if not is_running:
        with pytest.raises(PenstockError) as caught:
            run(cluster, replacing(case.new))
        assert caught.value.code == "plan-changed"
    unchanged = Case(case.name, case.old, case.old, case.before, case.before, sink=case.sink)
    assert written(cluster, unchanged) == Recomputation().rows(case.before, INPUT)


def _queries_of(script: str) -> str:
    """The statements of a script that make queries."""
    return ";".join(part for part in script.split(";") if " AS " in part) + ";"
