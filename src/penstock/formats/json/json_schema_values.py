"""JSON text for values of the DSL, checked against a JSON Schema if that is wanted."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

from penstock.errors import ConfigError
from penstock.formats.registered import Imports
from penstock.registry.registry import Schema, SchemaReference
from penstock.serde.json import json_serde

Check = Callable[[Any], None]


class JsonSchemaCodec:
    """Values of one JSON Schema; see ``SchemaCodec``."""

    def __init__(self, text: str | None, of: type | None, *, is_checked: bool) -> None:
        if text is not None and not isinstance(json.loads(text), dict | bool):
            raise ValueError("a JSON Schema is an object")
        self._text, self._serde, self._is_checked = text, json_serde(of), is_checked

    def own(self, refer: Callable[[str, Schema], SchemaReference]) -> Schema | None:
        return None if self._text is None else Schema("JSON", self._text)

    def record_name(self, schema: Schema, imports: Imports) -> str | None:
        parsed = json.loads(schema.text)
        title = parsed.get("title") if isinstance(parsed, dict) else None
        return None if title is None else str(title)

    def reader(self, schema: Schema, imports: Imports) -> Callable[[bytes], Any]:
        decode = self._serde.decode
        if not self._is_checked:
            return decode
        check = _checker(self._text or schema.text, {} if self._text else imports)

        def read(data: bytes) -> Any:
            check(json.loads(data))
            return decode(data)

        return read

    def writer(self, schema: Schema, imports: Imports) -> Callable[[Any], bytes]:
        encode = self._serde.encode
        if not self._is_checked:
            return encode
        check = _checker(schema.text, imports)

        def write(value: Any) -> bytes:
            data = encode(value)
            check(json.loads(data))
            return data

        return write


def _checker(text: str, imports: Imports) -> Check:
    """Return the function that raises ValueError for a value that the schema refuses."""
    jsonschema = _library("jsonschema")
    schema, referencing = json.loads(text), _library("referencing")
    known = referencing.Registry()
    for name, imported in imports.items():
        resource = referencing.Resource.from_contents(
            json.loads(imported), default_specification=referencing.jsonschema.DRAFT7
        )
        known = known.with_resource(name, resource)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft7Validator)
    validator = kind(schema, registry=known)

    def check(value: Any) -> None:
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        if error is not None:
            raise ValueError(f"not a value of the JSON Schema: {error.json_path}: {error.message}")

    return check


def _library(name: str) -> Any:
    try:
        found = import_module(name)
        import_module(f"{name}.jsonschema" if name == "referencing" else f"{name}.validators")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "format-library-missing",
            f"json.fail.invalid.schema needs the package {error.name!r}",
            fix="pip install jsonschema, or leave the setting out",
        ) from None
    return found
