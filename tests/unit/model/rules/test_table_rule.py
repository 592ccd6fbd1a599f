"""When a row of a table changes."""

from penstock.model.rules.table_rule import is_change


def test_from_nothing_to_nothing_is_not_a_change() -> None:
    """A tombstone for a row that nobody has seen is not forwarded; all other changes are."""
    assert not is_change(False, False)
    assert is_change(True, False)
    assert is_change(False, True)
    assert is_change(True, True)
