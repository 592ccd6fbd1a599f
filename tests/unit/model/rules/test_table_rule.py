"""When a row of a table changes."""

from penstock.model.rules.table_rule import REPARTITION_NULLS, TABLE_NULLS, LastRows, is_change


def test_from_nothing_to_nothing_is_not_a_change() -> None:
    """A tombstone for a row that nobody has seen is not forwarded; all other changes are."""
    assert not is_change(False, False)
    assert is_change(True, False)
    assert is_change(False, True)
    assert is_change(True, True)


def test_the_row_of_a_key_is_its_last_record_and_keys_are_in_their_order() -> None:
    """An older timestamp does not matter, and a tombstone is a row like any other."""
    rows: LastRows[str, int | None] = LastRows()
    for key, row in [("a", 9), ("b", 1), ("a", 3), ("c", 2), ("b", None)]:
        rows.put(key, row)
    assert [*rows.items()] == [("a", 3), ("c", 2), ("b", None)]


def test_a_table_takes_tombstones_but_no_record_without_a_key() -> None:
    for rule in (TABLE_NULLS, REPARTITION_NULLS):
        assert rule.takes(True, False)
        assert not rule.takes(False, True)
        assert not rule.takes(False, False)
        assert rule.drop_reason == "null-key"
