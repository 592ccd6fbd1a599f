"""The console is quick in a browser; ``python -m tests.console.speed`` prints the figures."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.browser import browser
from tests.console.speed import measure

__all__ = ["browser"]


@pytest.mark.slow
def test_it_is_painted_within_a_second_and_a_large_graph_moves(browser: Any) -> None:
    """A hundred nodes at 30 frames a second while their figures change."""
    found: dict[str, Any] = measure(browser, times=5, seconds=3.0)
    assert found["graph"]["nodes"] == 100
    assert found["graph"]["changes"] > 100
    assert found["first_paint_ms"]["median"] < 1_000
    assert found["at rest"]["rate"] >= 30
    assert found["dragged"]["rate"] >= 30
