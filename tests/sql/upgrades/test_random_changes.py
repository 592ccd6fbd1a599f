"""Random changes of a table, one after the other: right rows, or a refusal that touches nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import TopologyError
from penstock.sql import SqlEngine
from penstock.sql.queries.local_cluster import ClusterQueries, LocalCluster
from tests.sql.upgrades.cases import ORDERS, count, most, total
from tests.sql.upgrades.recomputation import Grouped, Order, Recomputation

AGGREGATES: dict[str, tuple[str, Any]] = {
    "N": ("COUNT(*)", count), "TOTAL": ("SUM(price)", total), "MOST": ("MAX(price)", most),
}  # fmt: skip


@dataclass(frozen=True)
class Version:
    """One version of the script, as SQL and as what it means."""

    columns: tuple[str, ...]
    above: int | None
    group: str
    at_least: int | None
    replaces: bool

    @property
    def script(self) -> str:
        columns = ", ".join(f"{AGGREGATES[name][0]} AS {name}" for name in self.columns)
        where = "" if self.above is None else f" WHERE price > {self.above}"
        having = "" if self.at_least is None else f" HAVING COUNT(*) >= {self.at_least}"
        create = "CREATE OR REPLACE" if self.replaces else "CREATE"
        return (
            f"{ORDERS}{create} TABLE totals AS SELECT {self.group}, {columns}"
            f" FROM orders{where} GROUP BY {self.group}{having};"
        )

    @property
    def meaning(self) -> Grouped:
        above, at_least = self.above, self.at_least
        return Grouped(
            tuple((name, AGGREGATES[name][1]) for name in self.columns),
            where=lambda order: above is None or order.price > above,
            group=lambda order: getattr(order, self.group),
            having=lambda orders: at_least is None or len(orders) >= at_least,
        )

    @property
    def state(self) -> tuple[str, ...]:
        """What is folded: a HAVING needs a count, selected or not."""
        is_hidden = self.at_least is not None and "N" not in self.columns
        return (self.group, *self.columns, *(("N",) if is_hidden else ()))

    def may_follow(self, old: Version) -> bool:
        if self.state != old.state or self.columns[: len(old.columns)] != old.columns:
            return False
        is_same = (self.columns, self.above, self.at_least) == (
            old.columns, old.above, old.at_least,
        )  # fmt: skip
        return is_same or self.replaces


versions = st.builds(
    Version,
    st.lists(st.sampled_from(sorted(AGGREGATES)), min_size=1, unique=True).map(tuple),
    st.none() | st.integers(1, 3),
    st.sampled_from(["item", "item", "item", "region"]),
    st.none() | st.integers(1, 3),
    st.booleans(),
)
orders = st.lists(
    st.builds(
        Order,
        st.integers(0, 9),
        st.sampled_from(["tea", "rum"]),
        st.sampled_from(["eu", "us"]),
        st.integers(0, 4),
        st.just(0),
    ),
    max_size=4,
)


@given(versions, st.lists(st.tuples(orders, versions), min_size=1, max_size=5), st.data())
def test_every_version_continues_rightly_or_is_refused(
    first: Version, steps: list[tuple[list[Order], Version]], data: st.DataObject
) -> None:
    """The version in force is the last one that was not refused."""
    cluster, made, current = LocalCluster(), Recomputation(), first
    expected = []
    run(cluster, first)
    for new_orders, drawn in steps:
        # Most random versions have nothing in common; near ones are where mistakes are made.
        version = data.draw(st.sampled_from([drawn, near(current, drawn)]))
        if version.may_follow(current):
            current = version
        else:
            assert is_refused(cluster, version)
        for order in new_orders:
            value = {"ITEM": order.item, "REGION": order.region, "PRICE": order.price}
            cluster.send("orders", json.dumps(order.id).encode(), json.dumps(value).encode())
        expected += made.rows(current.meaning, new_orders)
        run(cluster, current)
    written = [(json.loads(r.key or b""), r.value and json.loads(r.value))
               for r in cluster.topic("TOTALS")]  # fmt: skip
    assert written == expected


def near(current: Version, drawn: Version) -> Version:
    """The same table with another filter."""
    return Version(current.columns, drawn.above, current.group, current.at_least, drawn.replaces)


def run(cluster: LocalCluster, version: Version) -> None:
    engine = SqlEngine()
    engine.execute(version.script)
    with ClusterQueries(engine, cluster) as queries:
        queries.run_until_idle()


def is_refused(cluster: LocalCluster, version: Version) -> bool:
    try:
        run(cluster, version)
    except TopologyError as error:
        return error.code == "plan-changed"
    return False
