"""The named functions do what the case format says, down to Java's arithmetic and order."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Window, Windowed
from tests.oracle import folds, functions
from tests.oracle.values import fmt, json_text, order, wrap64


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("x", "x"),
        (-7, "-7"),
        (0.5, "0.500000"),
        (0.0078125, "0.007812"),
        (0.0234375, "0.023438"),
        (-1e-9, "0.000000"),
        (b"\x01\x02", "AQI="),
        ({"b": [1, 2.0, None], "a": "ñ"}, '{"b":[1,2.0,null],"a":"ñ"}'),
        (True, "true"),
        (Windowed(3, Window(0, 10)), "[3@0/10]"),
    ],
)
def test_text_form_of_each_type(value: Any, text: str) -> None:
    """Doubles have six digits and no negative zero; JSON is compact and keeps its order."""
    assert fmt(value) == text


def test_json_doubles_are_written_as_java_writes_them() -> None:
    """Java uses an exponent outside [0.001, 10^7)."""
    assert json_text([1e7, -12345678.5, 5e-4, 9999999.0, 0.001]) == (
        "[1.0E7,-1.23456785E7,5.0E-4,9999999.0,0.001]"
    )


def test_longs_wrap_at_64_bits() -> None:
    """Sums and products overflow as Java longs do; doubles do not."""
    assert wrap64(2**63) == -(2**63)
    assert functions.value_mapper("add:1")(None, 2**63 - 1) == -(2**63)
    assert functions.value_mapper("mul:2")(None, 2**62) == -(2**63)
    assert folds.reducer("sub")(-(2**63), 1) == 2**63 - 1
    assert functions.value_mapper("add:0.5")(None, 1.0) == 1.5


def test_strings_compare_by_utf16_code_unit() -> None:
    """A character outside the basic plane sorts before U+FFFF, unlike in Python."""
    assert order("\U0001f600") < order("\uffff")
    assert folds.reducer("max")("\U0001f600", "\uffff") == "\uffff"
    assert functions.value_mapper("len")(None, "\U0001f600") == 2


@pytest.mark.parametrize(
    ("spec", "value", "result"),
    [
        ("upper", None, None),
        ("fmt", None, "null"),
        ("default:d", None, "d"),
        ("first_char", "", None),
        ("mod:3", -1, 2),
        ("to_long", -1.9, -1),
        ("null_if:4", 4, None),
        ("value_field:a", {"a": 1}, 1),
        ("value_field:b", {"a": 1}, None),
        ("set_field:a:x:y", {"a": 1, "b": 2}, {"a": "x:y", "b": 2}),
        ("parse_long", "-12", -12),
    ],
)
def test_value_mappers(spec: str, value: Any, result: Any) -> None:
    """A mapper gives None for None unless its name says otherwise."""
    assert functions.value_mapper(spec)(None, value) == result


@pytest.mark.parametrize(("spec", "value"), [("parse_long", "x"), ("fail_if:1", 1), ("upper", 1)])
def test_mappers_that_raise(spec: str, value: Any) -> None:
    """Bad numbers, wrong types and ``fail_if`` stop the record."""
    with pytest.raises((ValueError, RuntimeError, TypeError)):
        functions.value_mapper(spec)(None, value)


def test_predicates_on_missing_values() -> None:
    """Value predicates are false for None, so their negation is true."""
    assert not functions.predicate("gt:-5")(None, None)
    assert functions.predicate("not:gt:-5")(None, None)
    assert functions.predicate("field_gt:n:1.5")(None, {"n": 2})
    assert not functions.predicate("has_field:n")(None, {"n": None})
    assert functions.predicate("key_in:a,b")("b", None)


def test_pairs_and_flat_mappers() -> None:
    """Specs nest: a selector and a mapper side by side, a flat value mapper inside a flat one."""
    assert functions.pair_mapper("key_by_and:on_value:first_char|len")("k", "abc") == ("a", 3)
    assert functions.flat_mapper("on_value:split_words")("k", " a  b") == [("k", "a"), ("k", "b")]
    assert functions.key_selector("window_start")(Windowed("k", Window(5, 9)), None) == 5


def test_aggregators_leave_the_old_aggregate_alone() -> None:
    """Stores may hand out the aggregate they hold, so a fold must copy it."""
    counts = {"x": 1, "y": 1}
    assert folds.aggregator("uncount_map")("k", "x", counts) == {"y": 1}
    assert folds.aggregator("count_map")("k", None, counts) == {"x": 1, "y": 1, "null": 1}
    assert counts == {"x": 1, "y": 1}
    assert folds.merger("concat_comma")("k", "", "b") == "b"


def test_unknown_spec_is_named() -> None:
    """A case that asks for something the format lacks must not pass silently."""
    with pytest.raises(functions.UnknownSpecError, match="unknown predicate 'evn'"):
        functions.predicate("evn")
