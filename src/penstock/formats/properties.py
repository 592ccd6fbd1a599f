"""The properties of a WITH clause that concern a format, for the key or for the value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from penstock.formats.errors import FormatError

Nullable = Literal["OPTIONAL", "WRAPPER"]

_NAMED_DELIMITERS = {"TAB": "\t", "SPACE": " "}
#: How each property is written behind ``KEY_`` or ``VALUE_``.
_WRITTEN = {
    "delimiter": "DELIMITER",
    "schema_full_name": "SCHEMA_FULL_NAME",
    "schema_id": "SCHEMA_ID",
    "nullable": "PROTOBUF_NULLABLE_REPRESENTATION",
}


@dataclass(frozen=True, slots=True)
class FormatProperties:
    """The properties of the key or the value; None for those that are not given.

    ``delimiter`` is the character itself, not its name.
    """

    delimiter: str | None = None
    schema_full_name: str | None = None
    schema_id: int | None = None
    nullable: Nullable | None = None

    @staticmethod
    def of(options: Mapping[str, Any], *, is_key: bool) -> FormatProperties:
        r"""Read the properties of the key or the value from those of a WITH clause (upper case).

        >>> FormatProperties.of({"VALUE_DELIMITER": "TAB"}, is_key=False).delimiter
        '\t'
        """
        side = "KEY" if is_key else "VALUE"
        given = {name: options.get(f"{side}_{text}") for name, text in _WRITTEN.items()}
        return FormatProperties(
            delimiter=_delimiter(f"{side}_DELIMITER", given["delimiter"]),
            schema_full_name=_name(f"{side}_SCHEMA_FULL_NAME", given["schema_full_name"]),
            schema_id=_number(f"{side}_SCHEMA_ID", given["schema_id"]),
            nullable=_nullable(f"{side}_PROTOBUF_NULLABLE_REPRESENTATION", given["nullable"]),
        )

    def given(self) -> dict[str, Any]:
        """Return the properties that are given, by name without ``KEY_`` or ``VALUE_``."""
        return {
            _WRITTEN[field.name]: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) is not None
        }


def _delimiter(name: str, value: Any) -> str | None:
    if value is None:
        return None
    text = str(value)
    if len(text) == 1 and not text.isspace():
        return text
    if text in _NAMED_DELIMITERS:
        return _NAMED_DELIMITERS[text]
    what = "is empty" if not text.strip() else f"{text!r} is not a single character"
    raise FormatError(
        "bad-delimiter", f"{name} {what}", fix="give one character such as ';', or TAB or SPACE"
    )


def _name(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if not str(value).strip():
        raise FormatError("bad-schema-name", f"{name} is empty", fix="name a schema or leave out")
    return str(value).strip()


def _number(name: str, value: Any) -> int | None:
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        raise FormatError(
            "bad-schema-id", f"{name} {value!r} is not a whole number", fix="give a schema's id"
        ) from None


def _nullable(name: str, value: Any) -> Nullable | None:
    match str(value).upper():
        case "NONE":
            return None
        case "OPTIONAL":
            return "OPTIONAL"
        case "WRAPPER":
            return "WRAPPER"
        case _:
            raise FormatError(
                "bad-nullable-representation",
                f"{name} {value!r} is not known",
                fix="give 'OPTIONAL' or 'WRAPPER'",
            )
