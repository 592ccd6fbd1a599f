"""Calls the user's joiner: left value first, with the key or without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: ``(key, this, other) -> result``, as the side of the join that calls it sees the values.
Join = Callable[[Any, Any, Any], Any]


def join_of(joiner: Callable[..., Any], *, with_key: bool, is_left: bool = True) -> Join:
    """Adapt the user's joiner to one side of the join."""
    if with_key:
        return joiner if is_left else lambda key, this, other: joiner(key, other, this)
    if is_left:
        return lambda key, this, other: joiner(this, other)
    return lambda key, this, other: joiner(other, this)
