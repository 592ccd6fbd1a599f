"""Every value is read back unchanged, equal values have equal bytes, and order is kept."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.change import Change
from penstock.model.partitioning import murmur2, partition_for
from penstock.model.subscription import (
    Instruction,
    SubscriptionResponseWrapper,
    SubscriptionWrapper,
)
from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.base import Serde
from penstock.serde.change import ChangeSerde, read_varint, write_varint
from penstock.serde.combined_key import combined_key, combined_key_prefix, split_combined_key
from penstock.serde.serdes import Serdes
from penstock.serde.subscription import (
    SubscriptionResponseWrapperSerde,
    SubscriptionWrapperSerde,
)
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde

MAX_LONG = 2**63 - 1

texts = st.text(st.characters(codec="utf-8"))
longs = st.integers(-(2**63), MAX_LONG)
times = st.integers(0, MAX_LONG)
hashes = st.none() | st.binary(min_size=16, max_size=16)
finite = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=20,
)
pairs: st.SearchStrategy[tuple[Serde[Any], Any]] = st.one_of(
    st.tuples(st.just(Serdes.string()), texts),
    st.tuples(st.just(Serdes.long()), longs),
    st.tuples(st.just(Serdes.integer()), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just(Serdes.short()), st.integers(-(2**15), 2**15 - 1)),
    st.tuples(st.just(Serdes.float_()), st.floats(width=32, allow_nan=False)),
    st.tuples(st.just(Serdes.double()), st.floats(allow_nan=False)),
    st.tuples(st.just(Serdes.bytes()), st.binary()),
    st.tuples(st.just(Serdes.boolean()), st.booleans()),
    st.tuples(st.just(Serdes.uuid()), st.uuids()),
    st.tuples(st.just(Serdes.list_("string")), st.lists(st.none() | texts)),
    st.tuples(st.just(Serdes.list_("long")), st.lists(st.none() | longs)),
    st.tuples(st.just(Serdes.json()), json_values),
    st.tuples(st.just(Serdes.pickle()), json_values),
)


@dataclass
class Leaf:
    when: datetime
    amount: Decimal


@dataclass
class Branch:
    leaves: list[Leaf]
    by_number: dict[int, str | None]
    names: frozenset[str]
    pair: tuple[int, float] | None = None


leaves = st.builds(
    Leaf,
    st.datetimes(timezones=st.just(UTC)),
    st.decimals(allow_nan=False, allow_infinity=False),
)
branches = st.builds(
    Branch,
    st.lists(leaves, max_size=3),
    st.dictionaries(longs, st.none() | texts, max_size=3),
    st.frozensets(texts, max_size=3),
    st.none() | st.tuples(st.integers(), finite),
)


@given(pair=pairs)
def test_value_comes_back_with_its_type(pair: tuple[Serde[Any], Any]) -> None:
    """Reading undoes writing, and reading a second time gives the same bytes."""
    serde, value = pair
    decoded = serde.decode(serde.encode(value))
    assert decoded == value
    assert type(decoded) is type(value)
    assert serde.encode(decoded) == serde.encode(value)


@given(pair=pairs)
def test_topic_and_headers_change_nothing(pair: tuple[Serde[Any], Any]) -> None:
    """The formats of this package are the same on every topic."""
    serde, value = pair
    data = serde.serialize("topic", value, (("h", b"1"),))
    assert data is None if value is None else data == serde.encode(value)


@given(value=branches)
def test_dataclass_comes_back(value: Branch) -> None:
    """Nested classes, optional members, sets and keys that are not text survive JSON."""
    serde = Serdes.json(Branch)
    assert serde.decode(serde.encode(value)) == value


@given(value=st.floats())
def test_double_comes_back_bit_by_bit(value: float) -> None:
    """Zero keeps its sign, and NaN stays NaN."""
    decoded = Serdes.double().decode(Serdes.double().encode(value))
    assert math.isnan(decoded) if math.isnan(value) else decoded == value
    assert math.isnan(value) or math.copysign(1, decoded) == math.copysign(1, value)


@given(a=st.integers(0, MAX_LONG), b=st.integers(0, MAX_LONG))
def test_bytes_of_positive_longs_sort_like_the_longs(a: int, b: int) -> None:
    """Stores scan time ranges as byte ranges."""
    encode = Serdes.long().encode
    assert (encode(a) < encode(b)) == (a < b)


@given(a=texts, b=texts)
def test_bytes_of_text_sort_like_its_code_points(a: str, b: str) -> None:
    """UTF-8 keeps the order of code points, and with it the order of range scans."""
    encode = Serdes.string().encode
    assert (encode(a) < encode(b)) == (a < b)


@given(data=st.binary())
def test_any_bytes_are_text_in_the_end(data: bytes) -> None:
    """Reading text never fails, as in Java, and what was read can be written."""
    text = Serdes.string().decode(data)
    assert Serdes.string().decode(Serdes.string().encode(text)) == text


@given(key=texts, start=times, size=times)
def test_time_windowed_key_comes_back(key: str, start: int, size: int) -> None:
    """The end is known from the size and never beyond the last time."""
    windowed = Windowed(key, Window(start, min(start + size, MAX_LONG)))
    serde = TimeWindowedSerde(Serdes.string(), size)
    assert serde.decode(serde.encode(windowed)) == windowed


@given(key=texts, ends=st.tuples(times, times).map(sorted))
def test_session_windowed_key_comes_back(key: str, ends: list[int]) -> None:
    """Both ends are in the bytes."""
    windowed = Windowed(key, Window(*ends))
    serde = SessionWindowedSerde(Serdes.string())
    assert serde.decode(serde.encode(windowed)) == windowed


@given(values=st.tuples(st.none() | texts, st.none() | texts).filter(lambda v: v != (None, None)))
def test_change_comes_back(values: tuple[str | None, str | None]) -> None:
    """Either value may be missing, and empty is not missing."""
    serde = ChangeSerde(Serdes.string())
    assert serde.decode(serde.encode(Change(*values))) == Change(*values)


@given(number=st.integers(-(2**31), 2**31 - 1), rest=st.binary())
def test_variable_length_integer_comes_back(number: int, rest: bytes) -> None:
    """The number says itself where it ends."""
    data = write_varint(number)
    assert read_varint(data + rest) == (number, len(data))


@given(
    hash_=hashes,
    instruction=st.sampled_from(Instruction),
    key=longs,
    partition=st.integers(0, 2**31 - 1),
)
def test_subscription_comes_back(
    hash_: bytes | None, instruction: Instruction, key: int, partition: int
) -> None:
    """Nothing of a version 1 subscription is lost."""
    wrapper = SubscriptionWrapper(hash_, instruction, key, 1, partition)
    serde = SubscriptionWrapperSerde(Serdes.long())
    assert serde.decode(serde.encode(wrapper)) == wrapper


@given(hash_=hashes, value=st.none() | longs)
def test_subscription_response_comes_back(hash_: bytes | None, value: int | None) -> None:
    """A missing value stays missing."""
    response = SubscriptionResponseWrapper(hash_, value)
    serde = SubscriptionResponseWrapperSerde(Serdes.long())
    assert serde.decode(serde.encode(response)) == response


@given(a=st.binary(), b=st.binary(), primary=st.binary())
def test_prefix_finds_the_keys_of_one_foreign_key_only(a: bytes, b: bytes, primary: bytes) -> None:
    """Even if one foreign key is the beginning of another."""
    key = combined_key(a, primary)
    assert split_combined_key(key) == (a, primary)
    assert key.startswith(combined_key_prefix(b)) == (a == b)


@given(key=st.binary(), partitions=st.integers(1, 1000))
def test_partition_is_one_of_the_topics(key: bytes, partitions: int) -> None:
    """The hash is a Java int, and its sign bit does not count."""
    assert -(2**31) <= murmur2(key) < 2**31
    assert partition_for(key, partitions) == (murmur2(key) & 0x7FFFFFFF) % partitions
