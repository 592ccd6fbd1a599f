"""Windowed keys, against the bytes of Java's kafka-streams 4.1.0."""

from typing import Any

import pytest

from penstock.errors import InvalidArgumentError
from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.base import Serde, SerdeDefaults
from penstock.serde.primitives import LongSerde, StringSerde
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde, WindowedSerdes

MINUTE = TimeWindowedSerde(StringSerde(), 60_000)
SESSION = SessionWindowedSerde(LongSerde())

JAVA: list[tuple[Serde[Any], Windowed[Any], str]] = [
    (MINUTE, Windowed("ann", Window(120_000, 180_000)), "616e6e000000000001d4c0"),
    (MINUTE, Windowed("", Window(0, 60_000)), "0000000000000000"),
    (SESSION, Windowed(7, Window(1000, 5000)), "0000000000000007000000000000138800000000000003e8"),
    (SESSION, Windowed(-1, Window(1000, 1000)), "ffffffffffffffff00000000000003e800000000000003e8"),
]


@pytest.mark.parametrize(("serde", "value", "expected"), JAVA)
def test_key_gives_javas_bytes_and_comes_back(
    serde: Serde[Any], value: Windowed[Any], expected: str
) -> None:
    """Time windows write their start only, sessions their end and then their start."""
    assert serde.serialize("t", value) == serde.encode(value) == bytes.fromhex(expected)
    assert serde.deserialize("t", bytes.fromhex(expected)) == value


def test_end_beyond_the_last_time_is_cut_off() -> None:
    """Java's long overflows there, and Java puts the largest long instead."""
    key = MINUTE.decode(bytes.fromhex("617fffffffffffff00"))
    assert key == Windowed("a", Window(2**63 - 256, 2**63 - 1))


def test_changelog_key_is_read_without_its_sequence_number() -> None:
    """Window stores add four bytes to their keys; only reading has to know."""
    data = bytes.fromhex("616e6e000000000001d4c000000005")
    key = Windowed("ann", Window(120_000, 180_000))
    assert MINUTE.for_changelog().decode(data) == key
    assert MINUTE.for_changelog().encode(key) == MINUTE.encode(key)


@pytest.mark.parametrize("serde", [MINUTE, SESSION])
def test_no_bytes_are_none(serde: Serde[Any]) -> None:
    """Java's deserializers take an empty array for null."""
    assert serde.deserialize("t", b"") is None
    assert serde.deserialize("t", None) is None
    assert serde.serialize("t", None) is None


@pytest.mark.parametrize("serde", [MINUTE, SESSION])
def test_too_few_bytes_are_refused(serde: Serde[Any]) -> None:
    """A key shorter than its times was never windowed."""
    with pytest.raises(ValueError, match="windowed serde needs"):
        serde.deserialize("t", b"abc")


@pytest.mark.parametrize("serde", [MINUTE, SESSION])
def test_plain_key_is_refused(serde: Serde[Any]) -> None:
    """A key without window has nothing to write behind it."""
    with pytest.raises(TypeError, match="windowed serde takes a Windowed, got str 'ann'"):
        serde.encode("ann")


def test_none_inside_a_window_is_refused() -> None:
    """A windowed key always has a key."""
    with pytest.raises(TypeError, match="key None has no bytes"):
        MINUTE.serialize("t", Windowed(None, Window(0, 1)))  # type: ignore[arg-type]


@pytest.mark.parametrize("serde", [MINUTE, SESSION])
def test_base_key_has_no_window(serde: Any) -> None:
    """Partitions are chosen by the key alone: its windows stay together."""
    key = Windowed("ann" if serde is MINUTE else 7, Window(5, 9))
    assert serde.serialize_base_key("t", key) == serde.inner.encode(key.key)


@pytest.mark.parametrize(
    "serde", [TimeWindowedSerde(None, 10), SessionWindowedSerde(None)], ids=["time", "session"]
)
def test_open_inner_serde_is_the_default_key_serde(serde: Any) -> None:
    """What is left open comes from the configuration."""
    key = Windowed("ann", Window(0, 10))
    with pytest.raises(InvalidArgumentError) as caught:
        serde.encode(key)
    assert caught.value.code == "inner-serde-missing"
    filled = serde.with_defaults(SerdeDefaults(key=StringSerde(), value=LongSerde()))
    assert filled.inner == StringSerde()
    assert filled.decode(filled.encode(key)) == key


def test_factories_take_names_types_and_durations() -> None:
    """The public edge takes what is convenient."""
    assert WindowedSerdes.time_windowed(str, "1m") == MINUTE
    assert WindowedSerdes.session_windowed("long") == SESSION
    assert WindowedSerdes.session_windowed(None) == SessionWindowedSerde(None)


def test_negative_window_size_is_refused() -> None:
    """No window ends before it starts."""
    with pytest.raises(InvalidArgumentError) as caught:
        TimeWindowedSerde(StringSerde(), -1)
    assert caught.value.code == "bad-window-size"
