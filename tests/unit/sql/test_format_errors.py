"""Errors of formats reach the user of SQL as errors of the statement."""

import pytest

from penstock.errors import StreamsError
from penstock.formats.errors import FormatError, FormatTypeError
from penstock.model.sql.errors import AnalysisError, SqlTypeError
from penstock.sql import SqlEngine
from penstock.sql.format_errors import format_errors_as_sql


@pytest.mark.parametrize(
    ("raised", "shown"), [(FormatError, AnalysisError), (FormatTypeError, SqlTypeError)]
)
def test_format_error_becomes_a_sql_error_with_the_same_words(
    raised: type[FormatError], shown: type[AnalysisError]
) -> None:
    """Code, message and advice are those of the format."""
    with pytest.raises(shown) as caught, format_errors_as_sql():
        raise raised("format-type", "no maps here", "use an array")
    assert type(caught.value) is shown
    assert (caught.value.code, caught.value.message, caught.value.fix) == (
        "format-type", "no maps here", "use an array",
    )  # fmt: skip


def test_format_error_points_at_its_statement() -> None:
    """Users see the line of the script, not the inside of a format."""
    script = (
        "SET 'auto.offset.reset'='earliest';\n"
        "CREATE STREAM s (k STRING KEY, v STRING)"
        " WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JASON');"
    )
    with pytest.raises(AnalysisError, match="JASON") as caught:
        SqlEngine().execute(script)
    assert (caught.value.code, caught.value.line) == ("unknown-format", 2)


def test_null_in_an_array_of_protobuf_stops_the_query() -> None:
    """Protobuf has no place for it: the query says so, and writes no other array in its place."""
    engine = SqlEngine()
    engine.execute(
        "CREATE STREAM s (id STRING KEY, a ARRAY<INT>)"
        " WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
        "CREATE STREAM p WITH (VALUE_FORMAT='PROTOBUF_NOSR') AS SELECT * FROM s;"
    )
    with engine.local() as queries:
        queries.pipe("s", b"k", b'{"A":[1]}')
        with pytest.raises(StreamsError, match="an array in Protobuf cannot hold NULL") as caught:
            queries.pipe("s", b"k", b'{"A":[2,null]}')
        assert "production.exception.handler" in (caught.value.fix or "")
        assert [record.value for record in queries.produced] == [b"\n\x01\x01"]
