"""How a join's user function is called: left value first, with the key or without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: ``(key, this, other) -> result``, seen from the arm of the join that runs it.
Join = Callable[[Any, Any, Any], Any]


def join_of(joiner: Callable[..., Any], *, with_key: bool, is_left: bool = True) -> Join:
    """Adapts the user's joiner to the arm: ``is_left`` says that this arm is the left one."""
    if with_key:
        return joiner if is_left else lambda key, this, other: joiner(key, other, this)
    if is_left:
        return lambda key, this, other: joiner(this, other)
    return lambda key, this, other: joiner(other, this)
