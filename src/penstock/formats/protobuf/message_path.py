"""The bytes before a Protobuf message: its place in the schema, in Confluent's format.

A place is the index at each level of nesting. It is written as a count and the indexes, each as a
number of variable length with its sign in the lowest bit.
"""

from __future__ import annotations

from collections.abc import Sequence


def read_path(data: bytes) -> tuple[tuple[int, ...], int]:
    """Return the place of a payload's message, and where the message begins.

    A lone zero is short for the first message of the schema.

    >>> read_path(bytes([4, 2, 0])), read_path(bytes([0]))
    (((1, 0), 3), ((0,), 1))

    Raises:
        ValueError: if the payload does not begin with a place.
    """
    if data[:1] == b"\0":
        return (0,), 1
    count, place = _read_number(data, 0)
    path = []
    for _ in range(count):
        index, place = _read_number(data, place)
        path.append(index)
    if not path or min(path) < 0:
        raise ValueError("the record does not tell which message it is")
    return tuple(path), place


def _read_number(data: bytes, place: int) -> tuple[int, int]:
    raw = shift = 0
    while True:
        if place >= len(data) or shift > 28:
            raise ValueError("the record does not tell which message it is")
        byte = data[place]
        place += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), place
        shift += 7


def written_path(path: Sequence[int]) -> bytes:
    r"""Return the bytes of a place.

    >>> written_path([1, 0]), written_path([0])
    (b'\x04\x02\x00', b'\x00')
    """
    if list(path) == [0]:
        return b"\0"
    return b"".join(_written_number(number) for number in (len(path), *path))


def _written_number(number: int) -> bytes:
    raw, out = number << 1, bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)
