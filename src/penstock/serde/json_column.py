"""The JSON of many values, written or read in one call."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

import orjson

#: A line break between two values: inside of them JSON writes it as two characters.
_BREAK = orjson.Fragment(b"\n")
_BETWEEN = b",\n,"
#: Stands between two texts that are read together. It is random, so that no text contains it.
_NUMBER = secrets.randbits(62)
_MARK = b",%d," % _NUMBER


def dumped(values: Sequence[Any], option: int | None = None) -> list[bytes]:
    """Return the JSON of each value as ``orjson.dumps`` writes it; raise what that raises.

    All values are written in one call. A text that orjson writes by itself keeps most of its
    buffer of four kilobytes: for a short record, that is thirty times the memory.
    """
    whole = orjson.dumps([*chain.from_iterable(zip(values, repeat(_BREAK)))], option=option)
    texts = whole[1:-3].split(_BETWEEN)
    if len(texts) != len(values):
        # There are no values, or a value contains a ``Fragment`` with a line break.
        return [orjson.dumps(value, option=option) for value in values]
    return texts


def loaded(texts: Sequence[bytes]) -> list[Any]:
    """Return the value of each text as ``orjson.loads`` reads it.

    Raises:
        ValueError: if a text is not JSON, or nests too deeply to be read with others.
    """
    values: list[Any] = orjson.loads(b"[" + _MARK.join(texts) + b"]") if texts else []
    if len(values) != 2 * len(texts) - 1 or values[1::2].count(_NUMBER) != len(texts) - 1:
        # Two texts that are not JSON became JSON together, or one text has several values.
        return [orjson.loads(text) for text in texts]
    return values[::2]
