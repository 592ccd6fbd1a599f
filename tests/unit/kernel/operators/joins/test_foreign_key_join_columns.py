"""Which foreign-key joins run over columns. Results: ``tests/properties/test_vectorised.py``."""

from __future__ import annotations

from typing import Any

import penstock as ps
from penstock.kernel.operators.joins.foreign_key_join_columns import (
    ForeignKeyLookUpColumns,
    ForeignKeyReceiveColumns,
    ForeignKeyResolveColumns,
    ForeignKeySubscribeColumns,
    ForeignKeyUpdateColumns,
)
from tests.unit.kernel.columns.test_planner import planned

FORMS = {
    ForeignKeyLookUpColumns, ForeignKeyReceiveColumns, ForeignKeyResolveColumns,
    ForeignKeySubscribeColumns, ForeignKeyUpdateColumns,
}  # fmt: skip


def joined(builder: ps.StreamsBuilder, right: str = "users", **more: Any) -> None:
    orders = builder.table("orders", materialized="orders", key="string", value="json")
    users = (
        orders
        if right == "orders"
        else builder.table(right, materialized=right, key="string", value="json")
    )
    how = {"foreign_key": lambda order: order["user"], **more}
    orders.join(users, lambda order, user: [order, user], **how).to_stream().to("out", value="json")


def test_all_parts_of_a_join_run_over_columns() -> None:
    plan = planned(joined)
    assert plan.why_not == {}
    assert {type(each) for source in plan.sources.values() for each in source.below()} >= FORMS


def test_messages_run_after_the_records_of_their_batch() -> None:
    """They see the rows that their tables have taken before them, and not those after them."""
    plan = planned(joined)
    assert plan.last == {name for name, each in plan.sources.items() if each.reads_messages}
    assert len(plan.last) == 2
    assert [each.node.store for each in plan.turns] == ["orders", "users"]


def test_messages_come_alone_if_a_fold_does_not_tell_its_changes() -> None:
    def build(builder: ps.StreamsBuilder) -> None:
        orders = builder.table("orders", materialized="orders", key="string", value="json")
        users = builder.stream("users", key="string", value="json").group_by_key().count("users")
        orders.join(
            users, lambda order, n: [order, n], foreign_key=lambda order: order["user"]
        ).to_stream().to("out", value="json")

    plan = planned(build)
    assert plan.why_not == {}
    assert plan.alone == {name for name, each in plan.sources.items() if each.reads_messages}


def test_function_that_may_do_anything_keeps_the_join_from_columns() -> None:
    seen: list[Any] = []

    def noted(order: Any) -> Any:
        seen.append(order)
        return order["user"]

    plan = planned(lambda builder: joined(builder, foreign_key=noted))
    assert not plan.is_vectorised or plan.is_handed_off


def test_user_chosen_partitions_keep_the_join_from_columns() -> None:
    how = ps.TableJoined(partitioner=lambda topic, key, value, count: 0)
    plan = planned(lambda builder: joined(builder, table_joined=how))
    assert "a function chooses its topic or partition" in plan.why_not.values()


def test_table_joined_with_itself_runs_over_columns() -> None:
    """Both kinds of its messages are behind its records."""
    plan = planned(lambda builder: joined(builder, "orders"))
    assert plan.why_not == {}
    assert len(plan.last) == 2
