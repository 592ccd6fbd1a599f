"""Joins a stream with a global table, as data.

How it runs: ``penstock.kernel.operators.joins.global_join``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalJoin(Node):
    """Joins each record with the row whose key ``key_selector(key, value)`` returns.

    ``store`` is the global table's store. The joiner takes ``(left, right)``, or with
    ``with_key`` the stream's key first.
    """

    store: str
    key_selector: Callable[[Any, Any], Any]
    joiner: Callable[..., Any]
    with_key: bool = False
    is_left: bool = False
