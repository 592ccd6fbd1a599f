"""Where DataFrames of results go: new folders of files, or lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.errors import InvalidArgumentError
from penstock.runtime.spark.history.typed_rows import quoted

#: The kinds of files that results are written to.
FILE_KINDS = ("parquet", "orc", "json", "csv")


def file_place(text: str) -> tuple[str, str]:
    """Return the kind and the folder of ``parquet:/lake/out``."""
    kind, _, folder = text.partition(":")
    if kind not in FILE_KINDS or not folder:
        raise InvalidArgumentError(
            "bad-outputs",
            f"rows cannot go to {text!r}",
            fix=f"write kind:folder, such as parquet:/lake/out; kinds are {', '.join(FILE_KINDS)}",
        )
    return kind, folder.rstrip("/")


def write_new(frames: Mapping[str, DataFrame], kind: str) -> Iterator[str]:
    """Write each frame into a folder of its own, and yield the folder.

    Raises:
        InvalidArgumentError: ``output-exists``, before anything is written.
    """
    for place, frame in frames.items():
        if _is_there(frame, kind, place):
            raise InvalidArgumentError(
                "output-exists",
                f"{place} exists already, and nothing was written",
                fix="name another folder, or delete it",
            )
    for place, frame in frames.items():
        frame.write.format(kind).mode("errorifexists").save(place)
        yield place


def _is_there(frame: DataFrame, kind: str, place: str) -> bool:
    try:
        frame.sparkSession.read.format(kind).load(place)
    except AnalysisException as error:
        return error.getCondition() != "PATH_NOT_FOUND"
    return True


def plain_rows(frame: DataFrame, most: int | None = None) -> Iterator[dict[str, Any]]:
    """Return the rows of a frame as JSON has them, at most so many."""
    whole = sf.struct(*(quoted(name) for name in frame.columns))
    text = frame.select(sf.to_json(whole, {"ignoreNullFields": "false"}).alias("row"))
    chosen = text if most is None else text.limit(most)
    return (orjson.loads(row["row"]) for row in chosen.toLocalIterator())
