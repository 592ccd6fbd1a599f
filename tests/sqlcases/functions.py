"""Functions that cases call and that no library has: the cases' own, as users would write them."""

from __future__ import annotations

from penstock.sql import UserFunction

FUNCTIONS: tuple[UserFunction, ...] = ()
