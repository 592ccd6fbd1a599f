"""Names that other dialects give to functions of ksqlDB."""

from __future__ import annotations

from penstock.sql.functions.declare import BUILT_IN

#: The other name, and the function that it stands for.
ALIASES = {
    "LOWER": "LCASE",
    "UPPER": "UCASE",
    "LENGTH": "LEN",
    "CHAR_LENGTH": "LEN",
    "CHARACTER_LENGTH": "LEN",
    "SUBSTR": "SUBSTRING",
    "POW": "POWER",
    "CEILING": "CEIL",
    "CARDINALITY": "ARRAY_LENGTH",
    "NOW": "CURRENT_TIMESTAMP",
    "PROCTIME": "CURRENT_TIMESTAMP",
}
#: The same for aggregates.
AGGREGATES = {
    "FIRST_VALUE": "EARLIEST_BY_OFFSET",
    "LAST_VALUE": "LATEST_BY_OFFSET",
    "ANY_VALUE": "EARLIEST_BY_OFFSET",
    "APPROX_COUNT_DISTINCT": "COUNT_DISTINCT",
}


def declare_aliases() -> None:
    """Add the other names to the built-in functions; their functions are declared before."""
    for name, of in ALIASES.items():
        function = BUILT_IN.scalars[of]
        for scalar in function.overloads:
            BUILT_IN.add_scalar(name, scalar, f"{function.description} The same as {of}.")
    for name, of in AGGREGATES.items():
        aggregate = BUILT_IN.aggregates[of]
        for overload in aggregate.overloads:
            BUILT_IN.add_aggregate(name, overload, f"{aggregate.description} The same as {of}.")
    BUILT_IN.yielding |= {*ALIASES, *AGGREGATES}
