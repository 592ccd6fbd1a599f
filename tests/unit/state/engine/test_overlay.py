"""Two ordered maps read as one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.state.engine.overlay import overlaid

key = st.binary(max_size=1)


@given(
    st.dictionaries(key, st.none() | st.just(b"over")),
    st.dictionaries(key, st.just(b"under")),
    st.booleans(),
)
def test_what_is_on_top_wins_and_none_hides(
    over: dict[bytes, bytes | None], under: dict[bytes, bytes], reverse: bool
) -> None:
    """The merge is the same as updating one dict by the other."""
    merged = {k: v for k, v in {**under, **over}.items() if v is not None}
    top, bottom = (sorted(side.items(), reverse=reverse) for side in (over, under))
    found = list(overlaid(top, iter(bottom), reverse=reverse))  # type: ignore[arg-type]
    assert found == sorted(merged.items(), reverse=reverse)
