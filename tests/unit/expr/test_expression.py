"""Expressions: functions of key and value that keep their structure."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import col, key, lit, struct, value
from penstock.errors import InvalidArgumentError
from penstock.expr.expression import Expression


@dataclass
class Payment:
    amount: float


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("a") + 1, 3),
        (10 - col("a"), 8),
        (col("a") * col("b"), 10),
        (col("b") / 2, 2.5),
        (col("b") // col("a"), 2),
        (col("b") % col("a"), 1),
        (col("a") / 0, None),
        (col("a") == 2, True),
        (col("a") != 2, False),
        ((col("a") > 1) & (col("b") < 3), False),
        ((col("a") > 1) | (col("b") < 3), True),
        (~(col("a") > 1), False),
        (col("missing") + 1, None),
        (col("missing").is_null(), True),
        (col("a").is_not_null(), True),
        (col("missing").fill_null(7), 7),
        (col("a").is_in([1, 2]), True),
        (col("name").upper(), "ANN"),
        (col("name").length(), 3),
        (col("nested")["x"], 9),
        (col("list")[-1], 3),
        (col("list")[5], None),
        (key, "k"),
        (value["a"], 2),
        (lit(5), 5),
        (struct(n=col("a"), k=key), {"n": 2, "k": "k"}),
    ],
    ids=repr,
)
def test_operators_give_what_they_say(expression: Expression, expected: Any) -> None:
    """Each operator works as in SQL: an unknown operand makes an unknown result."""
    record = {"a": 2, "b": 5, "name": "ann", "nested": {"x": 9}, "list": [1, 2, 3]}
    assert expression("k", record) == expected


@given(st.sampled_from([True, False, None]), st.sampled_from([True, False, None]))
def test_logic_has_three_values(left: bool | None, right: bool | None) -> None:
    """False decides ``and``, true decides ``or``; else one unknown side makes it unknown."""
    both, either = lit(left) & lit(right), lit(left) | lit(right)
    unknown = left is None or right is None
    assert both(None, None) is (False if False in (left, right) else None if unknown else True)
    assert either(None, None) is (True if True in (left, right) else None if unknown else False)


def test_dataclasses_have_columns_too() -> None:
    """A field is an attribute where the value is no dictionary."""
    assert (col("amount") > 5)("k", Payment(6.0)) is True
    assert col("amount")("k", None) is None


def test_an_expression_has_no_truth_of_its_own() -> None:
    """``and`` would silently drop the left side, so it is refused."""
    with pytest.raises(InvalidArgumentError) as caught:
        _ = col("a") > 1 and col("b") > 1
    assert caught.value.code == "expression-as-truth"


def test_expressions_pickle() -> None:
    """They travel to workers inside the topology."""
    again = pickle.loads(pickle.dumps((col("a") + 1) > 2))
    assert again("k", {"a": 2}) is True


def test_choice_takes_the_other_side_for_an_unknown_condition() -> None:
    """As a filter does: only what is true is chosen."""
    size = ps.when(col("n") > 9).then(col("n")).otherwise("few")
    assert [size("k", {"n": n}) for n in (10, 9, None)] == [10, "few", "few"]
    assert repr(size) == "when((col('n') > 9)).then(col('n')).otherwise('few')"


def test_texts_are_split_and_numbers_become_texts() -> None:
    """Unknown stays unknown."""
    assert col("s").split("b")("k", {"s": "abc"}) == ["a", "c"]
    assert col("s").split()("k", {"s": None}) is None
    assert (col("n").cast(str) + "!")("k", {"n": 7}) == "7!"
    assert col("n").cast(int)("k", {}) is None


def test_cast_to_something_else_is_refused() -> None:
    """An arbitrary class might do anything."""
    with pytest.raises(InvalidArgumentError, match="cannot be cast"):
        col("n").cast(list)


def test_fields_are_added_to_an_object() -> None:
    """The object itself stays as it is."""
    joined = ps.left.with_fields(name=ps.right["name"], n=1)
    order = {"id": 3, "n": 0}
    assert joined(order, {"name": "ann"}) == {"id": 3, "n": 1, "name": "ann"}
    assert joined(None, {"name": "ann"}) is None
    assert order == {"id": 3, "n": 0}
    assert repr(joined) == "left.with_fields(name=right['name'], n=1)"


def test_expression_maps_values() -> None:
    """It is called with key and value, whatever else the operator would accept."""
    builder = ps.StreamsBuilder()
    words = builder.stream("in", key="string", value="json").map_values(col("s"))
    words.flat_map_values(ps.value.split("-")).to("out", value="string")
    with ps.TopologyTestDriver(builder.build()) as driver:
        driver.pipe_input("in", "k", {"s": "a-b"})
        assert driver.read_values("out") == ["a", "b"]
