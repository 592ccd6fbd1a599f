"""Joins of tables on a key that is in the value."""

import pytest

from penstock import StreamsBuilder, Topology
from penstock.errors import StreamsError
from penstock.testing import TopologyTestDriver, rows
from tests.operators.driver import Driver


def joined(method: str = "join") -> Topology:
    """Values of orders begin with their user: 'u1:tea'."""
    builder = StreamsBuilder()
    orders, users = builder.table("orders"), builder.table("users")
    join = getattr(orders, method)
    table = join(
        users, lambda order, user: f"{order} for {user}", foreign_key=lambda o: o.split(":")[0]
    )
    table.to_stream().to("out")
    return builder.build()


def test_change_of_the_right_row_reaches_all_left_rows(driver: Driver) -> None:
    """One user, many orders."""
    driver.start(joined())
    driver.pipe("orders", "key | value\no1 | u1:tea\no2 | u1:rum\no3 | u2:tea")
    driver.pipe("users", "key | value\nu1 | Ann")
    assert driver.read("out") == rows("key | value\no1 | u1:tea for Ann\no2 | u1:rum for Ann")


def test_result_goes_when_the_right_row_goes(driver: Driver) -> None:
    """TOP-4: an inner join retracts."""
    driver.start(joined())
    driver.pipe("users", "key | value\nu1 | Ann")
    driver.pipe("orders", "key | value\no1 | u1:tea")
    driver.pipe("users", "key | value\nu1 | null")
    assert driver.read("out") == rows("key | value\no1 | u1:tea for Ann\no1 | null")


def test_order_may_change_its_user(driver: Driver) -> None:
    """The old user's changes no longer reach it."""
    driver.start(joined())
    driver.pipe("users", "key | value\nu1 | Ann\nu2 | Bob")
    driver.pipe("orders", "key | value\no1 | u1:tea")
    driver.pipe("orders", "key | value\no1 | u2:tea")
    driver.pipe("users", "key | value\nu1 | Ann B")
    assert driver.read("out")[-1:] == rows("key | value\no1 | u2:tea for Bob")


def test_left_join_keeps_orders_without_a_user(driver: Driver) -> None:
    """And deletes the row with the order."""
    driver.start(joined("left_join"))
    driver.pipe("orders", "key | value\no1 | u9:tea")
    driver.pipe("orders", "key | value\no1 | null")
    assert driver.read("out") == rows("key | value\no1 | u9:tea for None\no1 | null")


def test_foreign_key_of_another_type_says_what_to_return() -> None:
    """The join has no serde of keys to name: the other table has it."""
    builder = StreamsBuilder()
    users = builder.table("users", key=int)
    orders = builder.table("orders")
    orders.join(users, lambda order, user: user, foreign_key=lambda order: order).to("out")
    with TopologyTestDriver(builder.build()) as inner, pytest.raises(StreamsError) as caught:
        inner.pipe("orders", ("o1", "7"))
    assert caught.value.code == "serialization"
    assert "the foreign key '7' does not fit LongSerde" in caught.value.message
    assert caught.value.fix == "let foreign_key return a key of the other table, or None"
