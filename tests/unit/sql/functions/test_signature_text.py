"""Signatures as text: every type of SQL, in any case; what is not one is refused."""

import pytest

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import (
    BIGINT,
    INTEGER,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    StructType,
)
from penstock.sql.functions.signature import Signature
from penstock.sql.functions.signature_text import parse_signature


@pytest.mark.parametrize(
    ("text", "shown", "result"),
    [
        ("VARCHAR -> VARCHAR", "(STRING)", "STRING"),
        ("int, bigint -> double", "(INTEGER, BIGINT)", "DOUBLE"),
        ("DECIMAL(10,2) -> DECIMAL(12, 4)", "(DECIMAL(10, 2))", "DECIMAL(12, 4)"),
        ("STRUCT<a INT, `b` VARCHAR> -> INT", "(STRUCT<`A` INTEGER, `b` STRING>)", "INTEGER"),
        ("ARRAY<STRUCT<x DECIMAL(4,1)>> -> a", "(ARRAY<STRUCT<`X` DECIMAL(4, 1)>>)", "A"),
        ("map<varchar, array<int>>, a... -> a", "(MAP<STRING, ARRAY<INTEGER>>, A...)", "A"),
        ("ARRAY<A>, (A, B) => C -> ARRAY<C>", "(ARRAY<A>, LAMBDA (A, B) => C)", "ARRAY<C>"),
        ("STRUCT, DECIMAL, ANY -> STRING", "(STRUCT, DECIMAL, ANY)", "STRING"),
        ("-> TIMESTAMP", "()", "TIMESTAMP"),
    ],
)
def test_types_are_read_as_sql_writes_them(text: str, shown: str, result: str) -> None:
    """VARCHAR, DECIMAL with digits, STRUCT with fields and lower case all mean what they say."""
    signature = parse_signature(text)
    assert (str(signature), str(signature.result)) == (shown, result)


def test_types_with_parts_fit_just_these_types() -> None:
    """A STRUCT with fields is that struct, a DECIMAL with digits takes what it can hold."""
    point = StructType((Field("X", INTEGER),))
    signature = parse_signature("struct<x int>, decimal(10, 2) -> int")
    assert signature.match([point, DecimalType(4, 2)]) is not None
    assert signature.match([point, INTEGER]) is not None
    assert signature.match([point, DecimalType(4, 3)]) is None
    assert signature.match([StructType((Field("Y", INTEGER),)), DecimalType(4, 2)]) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("VARCHR -> INT", "no type 'VARCHR'"),
        ("INT", "ends too soon"),
        ("INT ->", "ends too soon"),
        ("ARRAY<INT -> INT", "'>' is missing"),
        ("DECIMAL(2, 4) -> INT", "is not a type"),
        ("DECIMAL(2) -> INT", "',' is missing"),
        ("INT BIGINT -> INT", "',' is missing"),
        ("INT -> INT, INT", "behind the result"),
        ("A..., B... -> A", "two parameters"),
        ("STRUCT<x A> -> INT", "does not say which type"),
        ("STRUCT<x DECIMAL> -> INT", "does not say which type"),
        ("INT ; -> INT", "has no meaning"),
    ],
)
def test_what_is_not_a_signature_is_refused(text: str, why: str) -> None:
    """The message says what is wrong with which text."""
    with pytest.raises(AnalysisError, match="bad-signature") as raised:
        parse_signature(text)
    assert why in str(raised.value)


def test_defaults_may_be_left_out() -> None:
    """The last parameters with a default fit calls with fewer arguments, at a higher cost."""
    signature = Signature((STRING, BIGINT, BIGINT), ArrayType(STRING), optional=2)
    assert str(signature) == "(STRING, [BIGINT], [BIGINT])"
    assert signature.match([]) is None
    costs = [signature.match([STRING, BIGINT, BIGINT][:n]) for n in (1, 2, 3)]
    assert [cost and cost[0] for cost in costs] == [500, 500, 0]
