"""Keys are put in the order of their bytes, however much they have in common."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.columns.key_order import key_order

#: Bytes that come again, so that keys begin with the same ones; 0 is also what fills a short key.
KEYS = st.lists(
    st.lists(st.sampled_from([0, 1, 97, 255]), max_size=11).map(bytes), min_size=1, unique=True
)


def in_order(keys: list[bytes]) -> list[bytes]:
    return [keys[place] for place in key_order(pa.array(keys, pa.binary())).tolist()]


@given(keys=KEYS, common=st.binary(max_size=12))
def test_order_is_that_of_the_bytes(keys: list[bytes], common: bytes) -> None:
    keys = [common + key for key in keys]
    assert in_order(keys) == sorted(keys)


@given(keys=KEYS, before=st.integers(0, 3), after=st.integers(0, 3))
def test_a_part_of_an_array_is_ordered_by_its_own_keys(
    keys: list[bytes], before: int, after: int
) -> None:
    """An array may be a part of a larger one, whose bytes it shares."""
    whole = pa.array([b"\x00before"] * before + keys + [b"\xffafter"] * after, pa.binary())
    part = whole.slice(before, len(keys))
    assert [keys[place] for place in key_order(part).tolist()] == sorted(keys)


@pytest.mark.parametrize(
    "keys",
    [
        [b"12345678b", b"12345678a"],
        [b"12345678", b"1234567"],
        [b"a\x00", b"a"],
        [b"\xff" * 9, b"\x7f" * 9, b"\x80" * 9],
        [b"same-beginning-" + bytes([n]) * 9 for n in (200, 3, 127, 128)],
        [b""],
    ],
    ids=["after 8 bytes", "shorter", "zero", "high bytes", "common", "alone"],
)
def test_keys_that_are_hard_to_tell_apart(keys: list[bytes]) -> None:
    assert in_order(keys) == sorted(keys)
