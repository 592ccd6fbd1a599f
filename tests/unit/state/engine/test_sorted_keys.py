"""Keys are sorted only when a scan needs it, and are always in order then."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.state.engine.sorted_keys import SortedKeys

key = st.binary(max_size=2)


def test_limit_takes_from_the_side_it_begins_with() -> None:
    """A chunk of a backward scan is the end of the range."""
    keys = SortedKeys()
    for each in (b"c", b"a", b"b"):
        keys.add(each)
    assert keys.between(None, None, limit=2) == [b"a", b"b"]
    assert keys.between(None, b"c", reverse=True, limit=1) == [b"b"]
    assert keys.between(b"b", b"a") == []
    keys.clear()
    assert keys.between(None, None) == []


@given(st.lists(st.tuples(st.sampled_from(["flip", "flip", "flip", "read"]), key), max_size=200))
def test_any_order_of_changes_and_reads_gives_the_sorted_keys(
    steps: list[tuple[str, bytes]],
) -> None:
    """Added, removed and added again between two reads, in any number."""
    keys, model = SortedKeys(), set[bytes]()
    for step, each in steps:
        if step == "read":
            assert keys.between(each, None) == sorted(k for k in model if k >= each)
        elif each in model:
            model.remove(each)
            keys.remove(each)
        else:
            model.add(each)
            keys.add(each)
    assert keys.between(None, None) == sorted(model)
