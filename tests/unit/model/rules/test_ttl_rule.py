"""A row with a time to live expires when the clock reaches its end."""

from penstock.model.rules.ttl_rule import TtlRule


def test_row_lives_until_the_clock_reaches_its_expiry() -> None:
    """Stores and copies of tables for pull queries have this rule in common."""
    rule = TtlRule(50)
    assert rule.expiry(100) == 150
    assert rule.is_alive(100, 149)
    assert not rule.is_alive(100, 150)


def test_row_lives_before_the_first_record() -> None:
    """An unknown time is -1."""
    assert TtlRule(1).is_alive(0, -1)
