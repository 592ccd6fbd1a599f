"""Reads topics into a sub-topology, as data.

How it runs: ``penstock.kernel.operators.topics.source``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from penstock.processor.functions import TimestampExtractor
from penstock.serde.base import Serde
from penstock.topology.nodes.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Node):
    """Decodes the records of one or more topics, or of all topics that match a pattern.

    A serde left None comes from the configuration. ``reads_internal`` marks the reading end of a
    repartition topic, whose timestamps are taken as they are.
    """

    topics: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: str | None = None
    reads_internal: bool = False
