"""How each sub-topology runs: over columns, or record by record, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.topology.titles import is_generated


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """Whether a sub-topology runs over columns, and for each node in the way the reason.

    ``by_record`` has the nodes that run record by record between columns, with the reason: their
    functions may have side effects.
    """

    subtopology: int
    why_not: Mapping[str, str]
    by_record: Mapping[str, str] = field(default_factory=dict)
    #: By node: its operator, line and function, which stand in front of generated names.
    labels: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def called(self, node: str) -> str:
        """Return what people call a node, followed by its name if nobody has chosen it."""
        label = self.labels.get(node)
        if label is None:
            return node
        return f"{label} ({node})" if is_generated(node) else label

    @property
    def is_vectorised(self) -> bool:
        return not self.why_not

    def __str__(self) -> str:
        if self.is_vectorised:
            between = f", but for {', '.join(self.by_record)}" if self.by_record else ""
            return f"sub-topology {self.subtopology}: over columns{between}"
        reasons = "; ".join(f"{node}: {reason}" for node, reason in self.why_not.items())
        return f"sub-topology {self.subtopology}: record by record ({reasons})"


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What ``explain`` returns: its text has a line per sub-topology, per reason and per fault.

    ``column_errors`` is filled for a running application. It counts the runs of tasks that went
    record by record because of a fault in the column path, by kind and place in the code.
    """

    parts: tuple[ColumnForm, ...]
    column_errors: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_vectorised(self) -> bool:
        """Return whether everything runs over columns."""
        return all(part.is_vectorised for part in self.parts)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        for part in self.parts:
            way = "over columns" if part.is_vectorised else "record by record"
            yield f"sub-topology {part.subtopology}: {way}"
            for node, reason in part.why_not.items():
                yield f"    {part.called(node)}: {reason}"
            for node, reason in part.by_record.items():
                yield f"    record by record {part.called(node)}: {reason}"
        if self.column_errors:
            yield "record by record after a fault in the column path:"
            for fault, count in self.column_errors.items():
                yield f"    {fault}: {count} runs of tasks"
