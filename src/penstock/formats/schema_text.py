"""What users may give as a schema: its text, a file that has the text, or the parsed JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

#: A schema in JSON: text, a file, or what ``json.loads`` returns.
JsonSchemaLike = str | PathLike[str] | Mapping[str, Any] | list[Any]


def json_text(schema: JsonSchemaLike | None) -> str | None:
    """Return a schema in JSON as text without needless spaces.

    >>> json_text({"type": "array", "items": "long"})
    '{"type":"array","items":"long"}'

    Raises:
        ValueError: if it is not JSON.
    """
    if schema is None:
        return None
    text = file_text(schema) if isinstance(schema, str | PathLike) else None
    parsed = schema if text is None else json.loads(text)
    return json.dumps(parsed, separators=(",", ":"))


def file_text(schema: str | PathLike[str]) -> str:
    """Return text as it is, and the contents of a file."""
    return schema if isinstance(schema, str) else Path(schema).read_text(encoding="utf-8")
