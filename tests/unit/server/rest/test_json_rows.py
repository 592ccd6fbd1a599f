"""Values that JSON has no form for, in the texts of ksqlDB's API."""

from decimal import Decimal

from penstock.model.sql.types import (
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)
from penstock.server.rest.json_rows import row_writer


def written(type_: SqlType, value: object) -> str:
    return row_writer([Field("C", type_)])((value,)).decode()


def test_scalars_have_ksqldbs_texts() -> None:
    """Times are ISO texts, decimals are plain digits, bytes are base64."""
    assert written(TIMESTAMP, 86_400_001) == '["1970-01-02T00:00:00.001"]'
    assert written(DATE, 1) == '["1970-01-02"]'
    assert written(TIME, 3_600_000).startswith('["01:00')
    assert written(DecimalType(6, 2), Decimal("10.50")) == "[10.50]"
    assert written(DecimalType(6, 0), Decimal("1E+2")) == "[100]"
    assert written(BYTES, b"hi") == '["aGk="]'
    assert written(DOUBLE, float("nan")) == '["NaN"]'
    assert written(DOUBLE, 1.5) == "[1.5]"
    assert written(STRING, None) == "[null]"


def test_collections_convert_what_is_inside() -> None:
    """Nulls stay, at every depth."""
    moments = ArrayType(TIMESTAMP)
    assert written(moments, [0, None]) == '[["1970-01-01T00:00:00.000",null]]'
    assert written(MapType(STRING, DATE), {"a": 0}) == '[{"a":"1970-01-01"}]'
    struct = StructType((Field("A", DATE), Field("B", STRING)))
    assert written(struct, {"A": 0, "B": None}) == '[{"A":"1970-01-01","B":null}]'
