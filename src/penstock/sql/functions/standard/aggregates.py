"""STRING_AGG and LISTAGG: texts of a group in one text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.model.sql.types import STRING
from penstock.sql.functions.declare import BUILT_IN, aggregate
from penstock.sql.functions.registry import Aggregator, Settings


def _joining(separator: str) -> Aggregator:
    def add(state: str | None, value: str | None) -> str | None:
        if value is None:
            return state
        return value if state is None else f"{state}{separator}{value}"

    def shown(state: str | None) -> str | None:
        return state

    return Aggregator(lambda: None, add, add, shown, STRING, STRING, most_values=None)


def string_agg(_: Sequence[Any], constants: Sequence[Any], __: Settings) -> Aggregator:
    """Join the texts of a group in their order of arrival, with a text between them."""
    return _joining(str(constants[0]) if constants else ",")


aggregate("STRING_AGG", "STRING, STRING -> STRING", constants=1)(string_agg)
aggregate("LISTAGG", "STRING, STRING -> STRING", constants=1)(string_agg)
aggregate("LISTAGG", "STRING -> STRING")(string_agg)
BUILT_IN.yielding |= {"STRING_AGG", "LISTAGG"}
