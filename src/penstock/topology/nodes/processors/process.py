"""Runs user-written processors, as data.

How it runs: ``penstock.kernel.operators.processors.process``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Process(Node):
    """Runs one processor per task. ``fixed_key`` processors cannot change keys."""

    supplier: Callable[[], Any]
    fixed_key: bool = False
