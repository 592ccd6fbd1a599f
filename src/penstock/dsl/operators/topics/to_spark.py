"""``to_spark``: passes records to Spark. Node: ``nodes.topics.to_spark``."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from typing import Any

from penstock.dsl.operators.arity import check_arity
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.serde.base import Serde
from penstock.serde.inferred import InferredSerde
from penstock.serde.json import TypedJsonSerde
from penstock.serde.primitives import DoubleSerde, LongSerde, StringSerde
from penstock.serde.tabular import TabularSerde
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from penstock.topology.nodes.topics.to_spark import SPARK_TOPIC, ToSpark

_SCALARS: dict[Any, str] = {
    str: "string", int: "bigint", float: "double", bool: "boolean", bytes: "binary",
    datetime: "timestamp", date: "date",
}  # fmt: skip


def stream_to_spark(
    stream: Stream, fn: Callable[[Any, int], object], schema: Any, name: str | None
) -> None:
    """Add the node. Its value type is the given schema, or follows from the stream's serde."""
    check_arity("to_spark", "function", fn, "dataframe", "batch_id")
    name = stream.graph.names.given_or_new(name, "KSTREAM-SPARK-")
    node = partial(ToSpark, topic=SPARK_TOPIC + name, fn=fn, **row_options(stream, schema))
    stream.then(Operator(name, node))


def row_options(stream: Stream, schema: Any) -> dict[str, Any]:
    """Return what a node must know to make rows of a stream: how they are written, and types."""
    value_type = serde_type(stream.value_serde) if schema is None else spark_type(schema)
    return {
        "key_serde": TabularSerde(),
        "value_serde": TabularSerde(),
        "key_type": serde_type(stream.key_serde),
        "value_type": value_type,
        "is_windowed": isinstance(stream.key_serde, TimeWindowedSerde | SessionWindowedSerde),
    }


def spark_type(given: Any) -> str:
    """Return a Spark type as DDL, from DDL, a dataclass, or a Python type."""
    if isinstance(given, str):
        return given if "<" in given or " " not in given.strip() else f"struct<{_fields(given)}>"
    if dataclasses.is_dataclass(given) and isinstance(given, type):
        hints = typing.get_type_hints(given)
        listed = [f"{f.name}:{spark_type(hints[f.name])}" for f in dataclasses.fields(given)]
        return f"struct<{','.join(listed)}>"
    if given in _SCALARS:
        return _SCALARS[given]
    return _generic(given)


def _generic(given: Any) -> str:
    origin, arguments = typing.get_origin(given), typing.get_args(given)
    if origin in (list, set, tuple) and arguments:
        return f"array<{spark_type(arguments[0])}>"
    if origin is dict:
        return f"map<{spark_type(arguments[0])},{spark_type(arguments[1])}>"
    present = [each for each in arguments if each is not type(None)]
    if len(present) == 1 and len(present) < len(arguments):
        return spark_type(present[0])
    raise InvalidArgumentError(
        "bad-schema",
        f"{given!r} has no Spark type",
        fix='give the schema as text, such as "user string, amount double"',
        at=caller_site(),
    )


def _fields(ddl: str) -> str:
    """Return the fields of a struct as DDL, such as ``user string, amount double``."""
    return ",".join(":".join(part.split(None, 1)) for part in ddl.split(","))


def serde_type(serde: Serde[Any] | None) -> str | None:
    """Return the Spark type of what a serde writes, as DDL; None if it is not known."""
    if isinstance(serde, InferredSerde):
        serde = serde.inner
    if isinstance(serde, StringSerde):
        return "string"
    if isinstance(serde, LongSerde):
        return "bigint"
    if isinstance(serde, DoubleSerde):
        return "double"
    if isinstance(serde, TypedJsonSerde) and dataclasses.is_dataclass(serde.of):
        return spark_type(serde.of)
    return None
