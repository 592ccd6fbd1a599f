"""Commits that can be looked back at, and changes of stores between them, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.serving.application import StoreChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A moment at which all stores together were one state.

    ``number`` only grows. What it counts is the runtime's business: batches, or cuts.
    """

    number: int
    at_ms: int
    #: By changelog topic and partition: the offset of the first change that came later.
    ends: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    #: By source topic and partition: the offset of the first record that is not in this state.
    positions: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    def end(self, topic: str, partition: int) -> int | None:
        """Return where a changelog stood; None if the commit does not know it."""
        return self.ends.get(topic, {}).get(partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Committed changes of one partition of a store between two offsets, oldest first.

    Changes that were compacted away are missing.
    """

    changes: Sequence[StoreChange]
    #: The first offset that the changelog still has.
    begins: int
    #: Whether nothing can be missing: offsets follow each other but for the marks of transactions.
    is_whole: bool
