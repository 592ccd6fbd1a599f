"""The registry of all built-in functions."""

from __future__ import annotations

import penstock.sql.functions.aggregates.basic
import penstock.sql.functions.aggregates.by_offset
import penstock.sql.functions.aggregates.statistics
import penstock.sql.functions.aggregates.top
import penstock.sql.functions.collections
import penstock.sql.functions.dates.functions
import penstock.sql.functions.encodings
import penstock.sql.functions.json_text
import penstock.sql.functions.nulls
import penstock.sql.functions.numbers
import penstock.sql.functions.patterns
import penstock.sql.functions.standard.aggregates
import penstock.sql.functions.standard.moments
import penstock.sql.functions.standard.values
import penstock.sql.functions.strings
import penstock.sql.functions.table_functions
import penstock.sql.functions.trigonometry
import penstock.sql.functions.urls  # noqa: F401 - each import declares its family
from penstock.sql.functions.declare import BUILT_IN
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.functions.standard.aliases import declare_aliases

# Behind all imports: the functions that have other names are declared by them.
declare_aliases()


def built_in_functions() -> FunctionRegistry:
    """Return a new registry with every built-in function; users' functions can be added to it."""
    return BUILT_IN.copy()
