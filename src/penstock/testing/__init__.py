"""Tests of topologies without a broker: the test driver, text tables, a mock context.

pytest loads this package for its plugin in every run, also of suites that test something else. So
each name loads its module when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.runtime.local.column_batches import BatchReport
    from penstock.testing.driver import TopologyTestDriver
    from penstock.testing.dropped import DroppedRecord
    from penstock.testing.mock_context import MockProcessorContext
    from penstock.testing.text_table import Row, rows
    from penstock.testing.topics import TestInputTopic, TestOutputTopic, TestRecord

#: Where each public name is defined; the module is loaded when a name is first asked for.
_HOMES: dict[str, tuple[str, ...]] = {
    "penstock.runtime.local.column_batches": ("BatchReport",),
    "penstock.testing.driver": ("TopologyTestDriver",),
    "penstock.testing.dropped": ("DroppedRecord",),
    "penstock.testing.mock_context": ("MockProcessorContext",),
    "penstock.testing.text_table": ("Row", "rows"),
    "penstock.testing.topics": ("TestInputTopic", "TestOutputTopic", "TestRecord"),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'penstock.testing' has no attribute {name!r}")
    found = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "BatchReport",
    "DroppedRecord",
    "MockProcessorContext",
    "Row",
    "TestInputTopic",
    "TestOutputTopic",
    "TestRecord",
    "TopologyTestDriver",
    "rows",
]
