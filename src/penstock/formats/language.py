"""Finds the schema language of a format. Its libraries are imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from penstock.extras import install_command
from penstock.formats.errors import FormatError

if TYPE_CHECKING:
    from penstock.formats.registered import Row, SchemaLanguage
    from penstock.formats.rows import RowFormat
    from penstock.registry.registry import SchemaKind

_HERE = "penstock.formats"
_MODULES = {
    "AVRO": ("avro.avro_language", "AvroLanguage"),
    "JSON_SR": ("json.json_language", "JsonLanguage"),
    "PROTOBUF": ("protobuf.protobuf_language", "ProtobufLanguage"),
}


def has_language(format_name: str) -> bool:
    """Return whether the schemas of a format are kept in a registry."""
    return format_name in _MODULES


def format_of_kind(kind: SchemaKind) -> str:
    """Return the format whose records name schemas of a kind."""
    return "JSON_SR" if kind == "JSON" else kind


@cache
def language_of(format_name: str) -> SchemaLanguage:
    """Return the language that a format's schemas are written in."""
    module, name = _MODULES[format_name]
    return cast("SchemaLanguage", getattr(format_module(module, format_name), name)())


def protobuf_codec(
    row: RowFormat,
) -> tuple[Callable[[Row], bytes | None], Callable[[bytes], Row]]:
    """Return the functions of a row in format PROTOBUF_NOSR."""
    made: tuple[Callable[[Row], bytes | None], Callable[[bytes], Row]]
    made = format_module("protobuf.protobuf_language", row.format.name).plain_codec(row)
    return made


def format_module(module: str, format_name: str) -> Any:
    """Import a module of this package that needs a library of the extra ``formats``.

    Raises:
        FormatError: ``format-library-missing`` when the library is not installed.
    """
    try:
        return import_module(f"{_HERE}.{module}")
    except ModuleNotFoundError as error:
        raise FormatError(
            "format-library-missing",
            f"format {format_name} needs the package {error.name!r}",
            fix=install_command("formats"),
        ) from None
