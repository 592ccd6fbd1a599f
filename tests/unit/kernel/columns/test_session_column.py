"""Keys of sessions as a column are those of the serde."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.session_column import SessionColumn
from penstock.model.time.duration import MAX_LONG
from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.primitives import StringSerde
from penstock.serde.windowed import SessionWindowedSerde

SERDE = SessionWindowedSerde(StringSerde())
TIMES = st.tuples(st.integers(0, MAX_LONG), st.integers(0, MAX_LONG)).map(sorted)


@given(rows=st.lists(st.tuples(st.sampled_from("ab"), TIMES), max_size=6))
def test_windowed_keys_are_those_of_the_serde(rows: list[tuple[str, list[int]]]) -> None:
    keys, starts, ends = (
        ([*c] for c in zip(*((k, s, e) for k, (s, e) in rows), strict=True))
        if rows
        else ([], [], [])
    )
    column = SessionColumn(BatchColumn(keys), starts, ends)
    expected = [Windowed(key, Window(start, end)) for key, (start, end) in rows]
    assert (len(column), column.has_nulls(), column.are_known()) == (
        len(rows), False, [True] * len(rows),
    )  # fmt: skip
    assert [*column.encoded(SERDE)] == [SERDE.encode(key) for key in expected]
    assert column.values() == expected
    for name in ("key", "start", "end"):
        assert [*(column.member(name) or ())] == [getattr(each, name) for each in expected]
    assert column.member("other") is None
    mask = [key == "a" for key in keys]
    kept = [each for each in expected if each.key == "a"]
    assert column.keep(mask).values() == kept
    assert column.keep(mask).take([*range(len(kept))][::-1]).values() == kept[::-1]


def test_windowed_keys_of_another_serde_are_made_whole() -> None:
    class Reversed(StringSerde):
        def encode(self, value: Any) -> bytes:
            return super().encode(f"{value.start}-{value.end} {value.key}")

    column = SessionColumn(BatchColumn(["a"]), [5], [10])
    assert [*column.encoded(Reversed())] == [b"5-10 a"]
