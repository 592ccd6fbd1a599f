"""Headers on their way through Python: as text, since Spark hands missing arrays over slowly."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

#: The type of headers in Spark.
HEADERS = "array<struct<key:string,value:binary>>"


def as_text(headers: Column) -> Column:
    """Return headers as ``penstock.runtime.history.rows`` has them."""
    return sf.to_json(headers.cast(HEADERS))


def as_headers(text: Column) -> Column:
    return sf.from_json(text, HEADERS)


def through_python(frame: DataFrame, call: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """Map the rows of a frame in Python, with its column of headers as text until it is back."""
    is_there = "headers" in frame.columns
    if not is_there or frame.schema["headers"].dataType.simpleString() != HEADERS:
        return call(frame)
    found = call(frame.withColumn("headers", as_text(sf.col("headers"))))
    return found.withColumn("headers", as_headers(sf.col("headers")))
