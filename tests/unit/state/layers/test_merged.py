"""Reading a cache and its store as one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.state.layers.merged import merge_cached

entries = st.dictionaries(st.integers(0, 20), st.text("xyz", min_size=1, max_size=1))
writes = st.dictionaries(st.integers(0, 20), st.none() | st.text("abc", min_size=1, max_size=1))


@given(stored=entries, cached=writes, reverse=st.booleans())
def test_merging_equals_writing_the_cache_to_the_store(
    stored: dict[int, str], cached: dict[int, str | None], reverse: bool
) -> None:
    """The cache wins, its tombstones hide, and the order holds in both directions."""
    over = [
        (place, None if value is None else (place, value))
        for place, value in sorted(cached.items(), reverse=reverse)
    ]
    under = [(place, (place, stored[place])) for place in sorted(stored, reverse=reverse)]
    merged = list(merge_cached(iter(over), iter(under), reverse=reverse))
    result = {**stored, **cached}
    wanted = [(place, value) for place, value in result.items() if value is not None]
    assert merged == sorted(wanted, reverse=reverse)
