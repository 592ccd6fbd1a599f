"""Calls functions for records: peek, for_each, print. Node: ``nodes.streams.peek``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from penstock.dsl.operators.arity import check_arity
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.options.stream_options import Printed
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.errors import TopologyError
from penstock.model.site import caller_site
from penstock.topology.nodes import Peek


def peek_stream(stream: Stream, fn: Callable[[Any, Any], object], name: str | None) -> Stream:
    check_arity("peek", "action", fn, "key", "value")
    check_fields("peek", fn, stream.key_serde, stream.value_serde)
    name = stream.graph.names.given_or_new(name, "KSTREAM-PEEK-")
    return stream.then(Operator(name, partial(Peek, fn=fn)))  # type: ignore[arg-type]


def for_each_record(stream: Stream, fn: Callable[[Any, Any], object], name: str | None) -> None:
    check_arity("for_each", "action", fn, "key", "value")
    check_fields("for_each", fn, stream.key_serde, stream.value_serde)
    name = stream.graph.names.given_or_new(name, "KSTREAM-FOREACH-")
    stream.then(Operator(name, partial(Peek, fn=fn, forwards=False)))  # type: ignore[arg-type]


def print_stream(stream: Stream, options: Printed[Any, Any]) -> None:
    """Print a line per record. Without a label, it starts with the name of the stream's node."""
    mapper = options.fn or _pair
    check_arity("print", "mapper", mapper, "key", "value")
    check_fields("print", mapper, stream.key_serde, stream.value_serde)
    action = PrintLine(options.label or stream.name, mapper, _emptied(options.file))
    name = stream.graph.names.given_or_new(options.name, "KSTREAM-PRINTER-")
    stream.then(Operator(name, partial(Peek, fn=action, forwards=False)))


@dataclass(frozen=True, slots=True)
class PrintLine:
    """Prints ``[label]: key, value``, to standard output or to the end of a file."""

    label: str
    mapper: Callable[[Any, Any], str]
    file: Path | None

    def __call__(self, key: Any, value: Any) -> None:
        line = f"[{self.label}]: {self.mapper(key, value)}"
        if self.file is None:
            print(line, flush=True)
            return
        # The file is opened for each line: an open file cannot be sent to a worker.
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def _pair(key: Any, value: Any) -> str:
    return f"{key}, {value}"


def _emptied(file: str | Path | None) -> Path | None:
    if file is None:
        return None
    path = Path(file)
    try:
        path.write_text("", encoding="utf-8")
    except OSError as error:
        raise TopologyError(
            "bad-file",
            f"cannot print to the file {str(path)!r}: {error.strerror}",
            fix="give a path in a folder that exists and can be written",
            at=caller_site(),
        ) from error
    return path
