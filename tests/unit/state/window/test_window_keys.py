"""Window and session keys: Java's bytes, and bounds that leave nothing out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.time.duration import MAX_LONG
from penstock.model.windows.windowed import Window
from penstock.state.window.window_keys import (
    KEY_FIRST,
    MAX_SEQUENCE,
    highest_session_key,
    highest_window_key,
    session_key,
    session_key_time,
    split_session_key,
    split_time_first_session_key,
    split_time_first_window_key,
    split_window_key,
    time_first_session_key,
    time_first_window_key,
    window_from,
    window_key,
    window_key_time,
)

keys = st.binary(min_size=1, max_size=6)
times = st.integers(0, MAX_LONG)
sequences = st.integers(0, MAX_SEQUENCE)


def test_window_keys_have_the_bytes_of_kafka_streams() -> None:
    """Recorded from Kafka Streams 4.1: key first, and time first with its prefix byte."""
    assert window_key(b"key", 1234567890123, 7).hex() == "6b65790000011f71fb04cb00000007"
    first = time_first_window_key(b"key", 1234567890123, 7)
    assert first.hex() == "000000011f71fb04cb6b657900000007"
    index = KEY_FIRST + window_key(b"key", 1234567890123, 7)
    assert index.hex() == "016b65790000011f71fb04cb00000007"


def test_session_keys_have_the_bytes_of_kafka_streams() -> None:
    """Recorded from Kafka Streams 4.1: the end stands before the start."""
    assert session_key(b"key", 1000, 2500).hex() == "6b657900000000000009c400000000000003e8"
    first = time_first_session_key(b"key", 1000, 2500)
    assert first.hex() == "0000000000000009c400000000000003e86b6579"


@given(key=keys, start=times, sequence=sequences)
def test_window_keys_split_into_what_they_were_made_of(
    key: bytes, start: int, sequence: int
) -> None:
    """Any key bytes are safe: the parts around them have a fixed size."""
    data = window_key(key, start, sequence)
    assert split_window_key(data) == (key, start, sequence)
    assert window_key_time(data) == start
    first = time_first_window_key(key, start, sequence)
    assert split_time_first_window_key(first) == (key, start, sequence)


@given(key=keys, start=times, end=times)
def test_session_keys_split_into_what_they_were_made_of(key: bytes, start: int, end: int) -> None:
    """Any key bytes are safe: the parts around them have a fixed size."""
    data = session_key(key, start, end)
    assert split_session_key(data) == (key, start, end)
    assert session_key_time(data) == end
    assert split_time_first_session_key(time_first_session_key(key, start, end)) == (
        key,
        start,
        end,
    )


@given(high=keys, size=st.integers(0, 6), tail=keys, latest=times, back=times)
def test_no_key_of_a_range_lies_above_its_bound(
    high: bytes, size: int, tail: bytes, latest: int, back: int
) -> None:
    """Keys that begin alike do not sort like their composites, but the bound covers all."""
    time = max(0, latest - back)
    for key in (high[:size], high[:size] + tail, tail):
        if key <= high:
            assert window_key(key, time, MAX_SEQUENCE) <= highest_window_key(high, latest)
            assert session_key(key, 0, time) <= highest_session_key(high, latest)


def test_bound_covers_a_key_that_a_zero_byte_makes_longer() -> None:
    """Kafka Streams' own bound leaves this one out."""
    assert window_key(b"a", 187) > window_key(b"a\0", 268)
    assert window_key(b"a", 187) <= highest_window_key(b"a\0", 268)
    assert session_key(b"a", 0, 187) <= highest_session_key(b"a\0", 268)


def test_window_that_would_end_after_the_last_time_ends_there() -> None:
    """Unlimited windows have no end that fits."""
    assert window_from(5, 10) == Window(5, 15)
    assert window_from(5, MAX_LONG) == Window(5, MAX_LONG)
