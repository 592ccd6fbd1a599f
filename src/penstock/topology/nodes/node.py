"""The two base classes of nodes. Nodes are frozen data; parents are given by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A named step of a topology.

    ``stores`` are the state stores the node is connected to, in the order they were connected.
    ``site`` is the line of the user's program that added the node.
    """

    name: str
    parents: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    site: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNode(Node):
    """A step whose output is a table: it forwards ``Change`` values.

    ``store`` has the result, if it is materialized. A table without a store is computed from its
    parent on each read. ``sends_old`` means that a later node needs the old value of each change.
    ``versioned`` means the rules for versioned tables: updates that are not the latest are
    dropped.
    """

    store: str | None = None
    sends_old: bool = False
    versioned: bool = False
