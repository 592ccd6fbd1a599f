"""EX-25: fraud detection."""

from examples.fraud_detection.app import FraudState, Thresholds, Transaction, build
from penstock.testing import TopologyTestDriver
from tests.examples.play import played

MINUTE = 60_000


def payment(user: str, amount: float, place: str = "Rome") -> Transaction:
    return Transaction(f"{user}-{amount}", user, amount, place)


def test_sample_raises_an_alert_for_each_kind_of_suspicion() -> None:
    """Bob is in three places, Cem spends too much, Dee pays too often, Ann is nobody's worry."""
    with played("fraud_detection", build()) as driver:
        alerts = driver.read_map("fraud-alerts")
    assert set(alerts) == {"bob", "cem", "dee"}
    assert alerts["bob"].locations == {"Oslo", "Lima", "Perth"}
    assert alerts["cem"].total_amount == 10_250.0
    assert alerts["dee"] == FraudState(
        ("t-10", "t-11", "t-12", "t-13", "t-14"), 6, 30.0, frozenset({"Quito"})
    )


def test_each_window_starts_from_nothing() -> None:
    """What was spent five minutes ago does not count any more."""
    with TopologyTestDriver(build()) as driver:
        driver.pipe("transactions", ("t", payment("ann", 9_000.0), 4 * MINUTE))
        driver.pipe("transactions", ("t", payment("ann", 9_000.0), 6 * MINUTE))
        assert driver.read_values("fraud-alerts") == []


def test_late_payment_counts_only_within_grace() -> None:
    """Without grace a window is over when its time is."""
    late = [
        ("t", payment("ann", 9_000.0), 4 * MINUTE),
        ("t", payment("bob", 1.0), 5 * MINUTE + 10_000),
        ("t", payment("ann", 9_000.0), 4 * MINUTE),
    ]
    with TopologyTestDriver(build()) as driver:
        driver.pipe("transactions", *late)
        assert driver.read_values("fraud-alerts") == []
        assert sum(driver.dropped_records.values()) == 1
    with TopologyTestDriver(build(grace="1m")) as driver:
        driver.pipe("transactions", *late)
        assert [state.count for state in driver.read_values("fraud-alerts")] == [2]


def test_thresholds_can_be_tuned() -> None:
    """Stricter limits find what the usual ones let pass."""
    with TopologyTestDriver(build(limits=Thresholds(transactions=1))) as driver:
        driver.pipe("transactions", ("t", payment("ann", 1.0)), ("t", payment("ann", 2.0)))
        assert driver.read_map("fraud-alerts")["ann"].count == 2
