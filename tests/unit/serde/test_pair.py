"""Pairs as keys of stores. Exercises ``serde.pair`` and ``combined_key``."""

import pytest

from penstock.errors import InvalidArgumentError
from penstock.serde.base import SerdeDefaults
from penstock.serde.pair import PairSerde
from penstock.serde.primitives import LongSerde, StringSerde

PAIRS = PairSerde(StringSerde(), LongSerde())


def test_pair_comes_back() -> None:
    """The length of the first part tells where the second begins."""
    data = PAIRS.serialize("t", ("ab", 7))
    assert data == PAIRS.encode(("ab", 7)) == bytes.fromhex("0000000261620000000000000007")
    assert PAIRS.deserialize("t", data) == PAIRS.decode(data) == ("ab", 7)
    assert PAIRS.serialize("t", None) is None
    assert PAIRS.deserialize("t", None) is None


def test_part_without_bytes_is_refused() -> None:
    """None and an empty text would be the same key."""
    with pytest.raises(TypeError, match="second part"):
        PAIRS.encode(("ab", None))


def test_open_part_is_the_default() -> None:
    """As for every serde that contains another one."""
    open_pair = PairSerde(None, LongSerde())
    assert open_pair.is_open
    with pytest.raises(InvalidArgumentError, match="inner-serde-missing"):
        open_pair.encode(("ab", 7))
    assert open_pair.with_defaults(SerdeDefaults(StringSerde(), StringSerde())) == PAIRS
