"""Joins two tables on a foreign key of the left one, as data: five nodes and two topics.

How it runs: ``penstock.kernel.operators.joins.foreign_key_join``. The topics in the fields are not
real topics. They are names for serdes, one for each kind of bytes, as in Java: ``<topic>-pk``,
``-fk``, ``-vh``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.serde.base import Serde
from penstock.topology.nodes.node import Node, TableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeySubscribe(TableNode):
    """Left side, sending: subscribes to the foreign key of each left row."""

    foreign_key: Callable[..., Any]
    with_key: bool
    is_left_join: bool
    primary_key_serde: Serde[Any] | None = None
    foreign_key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    foreign_key_topic: str = ""
    primary_key_topic: str = ""
    hash_topic: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeyReceive(Node):
    """Right side, receiving: keeps the subscriptions in ``store`` and forwards them."""

    store: str
    foreign_key_serde: Serde[Any] | None = None
    primary_key_serde: Serde[Any] | None = None
    foreign_key_topic: str = ""
    primary_key_topic: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeyLookUp(Node):
    """Right side: answers a new subscription with the current row of ``table``."""

    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeyUpdate(Node):
    """Right side: sends a changed row to all subscribers in ``store``.

    ``versioned`` says that the right table is versioned: out-of-order changes are dropped.
    """

    store: str
    versioned: bool = False
    foreign_key_serde: Serde[Any] | None = None
    primary_key_serde: Serde[Any] | None = None
    foreign_key_topic: str = ""
    primary_key_topic: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeyResolve(Node):
    """Left side, receiving: joins an answer with the left row, unless the row has changed."""

    table: str
    joiner: Callable[..., Any]
    is_left_join: bool
    with_key: bool = False
    value_serde: Serde[Any] | None = None
    hash_topic: str = ""
