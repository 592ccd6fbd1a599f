"""The JSON of many values in one call, each text in memory of its own size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

import orjson

#: A line break between two values: inside of them JSON writes it as two characters.
_BREAK = orjson.Fragment(b"\n")
_BETWEEN = b",\n,"


def dumped(values: Sequence[Any], option: int | None = None) -> list[bytes]:
    """The JSON of each value, exactly as ``orjson.dumps`` writes it; raises what that raises.

    Texts that orjson writes one by one keep most of the four kilobytes in which each was begun:
    thirty times the memory of a short record, for as long as its batch lasts.
    """
    whole = orjson.dumps([*chain.from_iterable(zip(values, repeat(_BREAK)))], option=option)
    texts = whole[1:-3].split(_BETWEEN)
    if len(texts) != len(values):
        # There are no values, or one brought a line break as text that is JSON already.
        return [orjson.dumps(value, option=option) for value in values]
    return texts
