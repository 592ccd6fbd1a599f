"""The comparison notices what it should: order, types, windows, stores, failures."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import NullArgumentError, SerializationError, TopologyError
from tests.oracle.compare import ASPECTS, STRICT_ASPECTS, compare, java_name
from tests.oracle.run import Failure, Outcome


def _record(value: Any, topic: str = "out", **more: Any) -> dict[str, Any]:
    return {"topic": topic, "key": "k", "value": value, "timestamp": 1, **more}


def _aspects(golden: dict[str, Any], outcome: Outcome) -> list[str]:
    return [each.aspect for each in compare(golden, outcome, ASPECTS + STRICT_ASPECTS)]


def test_equal_outcome_has_no_differences() -> None:
    """Agreement means an empty list."""
    outcome = Outcome(describe="d", outputs=[_record(1)], internal_topics={"c": 1}, stores={})
    golden = {"describe": "d", "outputs": [_record(1)], "internal_topics": {"c": 1}, "stores": {}}
    assert compare(golden, outcome, ASPECTS + STRICT_ASPECTS) == []


@pytest.mark.parametrize(
    "other", [_record(1.0), _record("1"), _record(1, window={"start": 0, "end": 5}), _record(None)]
)
def test_type_and_window_of_a_record_matter(other: dict[str, Any]) -> None:
    """A long is not a double, and a windowed key is not a plain one."""
    assert _aspects({"outputs": [_record(1)]}, Outcome(outputs=[other])) == ["outputs"]


def test_order_across_topics_is_its_own_aspect() -> None:
    """Topics that agree one by one may still have been written in another order."""
    golden = {"outputs": [_record(1, "a"), _record(2, "b")]}
    assert _aspects(golden, Outcome(outputs=[_record(2, "b"), _record(1, "a")])) == ["order"]


def test_missing_and_surplus_stores_differ_but_buffers_do_not() -> None:
    """Goldens do not list suppression buffers, so only readable stores may be surplus."""
    empty = {"kind": "kv", "entries": []}
    buffer = {"kind": "time_ordered_buffer", "opaque_entries": 2}
    assert _aspects({"stores": {}}, Outcome(stores={"b": buffer})) == []
    assert _aspects({"stores": {}}, Outcome(stores={"s": empty})) == ["stores"]
    assert _aspects({"stores": {"s": empty}}, Outcome(stores={})) == ["stores"]


def test_failures_compare_by_phase_class_and_input() -> None:
    """The message is for reading; the nearest mapped class decides."""
    expected = {"class": "TopologyException", "phase": "build", "message": "m"}
    error = TopologyError("code", "another message")
    assert _aspects({"exception": expected}, Outcome(failure=Failure("build", error))) == []
    assert _aspects({"exception": expected}, Outcome(failure=Failure("run", error, 0))) != []
    assert _aspects({"exception": expected}, Outcome()) == ["exception"]
    assert _aspects({"outputs": []}, Outcome(failure=Failure("build", error))) == ["exception"]


def test_java_names_of_errors() -> None:
    """Subclasses take the name of the nearest class that Java has; others keep their own."""
    assert java_name(SerializationError("c", "m")) == "SerializationException"
    assert java_name(NullArgumentError("c", "m")) == "NullPointerException"
    assert java_name(KeyError("k")) == "KeyError"
