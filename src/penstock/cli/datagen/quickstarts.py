"""Built-in rows: orders, users and pageviews of a small shop. Their user ids fit together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.cli.datagen.generators import (
    RowContext,
    choice,
    counter,
    fraction,
    mapped,
    numbered,
    row_time,
    sometimes,
    subset,
    whole,
)
from penstock.cli.datagen.row_plan import GeneratedColumn, RowPlan
from penstock.errors import InvalidArgumentError
from penstock.model.sql.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    ArrayType,
    Field,
    MapType,
    StructType,
)

_USERS = 20
_CITIES = {
    "Lyon": "FR", "Porto": "PT", "Graz": "AT", "Bergen": "NO", "Leeds": "GB", "Osaka": "JP",
    "Recife": "BR", "Nairobi": "KE",
}  # fmt: skip
_ADDRESS = StructType((Field("CITY", STRING), Field("COUNTRY", STRING), Field("ZIP", INTEGER)))
_INTERESTS = ("books", "cycling", "film", "garden", "music", "sailing", "travel")


def _address(row: RowContext) -> dict[str, Any]:
    city = row.random.choice(tuple(_CITIES))
    return {"CITY": city, "COUNTRY": _CITIES[city], "ZIP": row.random.randint(1000, 99_999)}


QUICKSTARTS = {
    "orders": RowPlan(
        "orders",
        "ORDER_ID",
        (
            GeneratedColumn("ORDER_ID", INTEGER, counter()),
            GeneratedColumn("USER_ID", STRING, numbered("u-", _USERS)),
            GeneratedColumn("ITEM", STRING, numbered("item-", 50)),
            GeneratedColumn("QUANTITY", INTEGER, whole(1, 9)),
            GeneratedColumn("PRICE", DOUBLE, fraction(1, 200, 2)),
            GeneratedColumn("ORDERED_AT", TIMESTAMP, row_time()),
            GeneratedColumn(
                "ADDRESS",
                _ADDRESS,
                _address,
            ),
        ),
    ),
    "users": RowPlan(
        "users",
        "USER_ID",
        (
            GeneratedColumn("USER_ID", STRING, numbered("u-", _USERS)),
            GeneratedColumn("REGISTERED_AT", TIMESTAMP, row_time()),
            GeneratedColumn("REGION", STRING, numbered("region-", 5)),
            GeneratedColumn("LEVEL", STRING, choice(("gold", "silver", "bronze"), (1, 3, 6))),
            GeneratedColumn("INTERESTS", ArrayType(STRING), subset(_INTERESTS, 0, 3)),
            GeneratedColumn(
                "CONTACT",
                MapType(STRING, STRING),
                mapped(choice(("phone", "city")), choice(tuple(_CITIES)), 0, 2),
            ),
        ),
        is_table=True,
    ),
    "pageviews": RowPlan(
        "pageviews",
        "USER_ID",
        (
            GeneratedColumn("USER_ID", STRING, numbered("u-", _USERS)),
            GeneratedColumn("PAGE", STRING, numbered("/page/", 30)),
            GeneratedColumn("VIEW_ID", BIGINT, counter()),
            GeneratedColumn("SECONDS", INTEGER, whole(1, 240)),
            GeneratedColumn(
                "REFERRER", STRING, sometimes(choice(("search", "mail", "friend")), 0.4)
            ),
            GeneratedColumn("VIEWED_AT", TIMESTAMP, row_time()),
        ),
    ),
}


def quickstart(name: str, topic: str | None = None, key: str | None = None) -> RowPlan:
    """Return built-in rows, with another topic or key if they are given.

    Raises:
        InvalidArgumentError: ``unknown-quickstart``.
    """
    found = QUICKSTARTS.get(name.lower())
    if found is None:
        raise InvalidArgumentError(
            "unknown-quickstart",
            f"no quickstart is called {name!r}",
            fix=f"use one of {', '.join(QUICKSTARTS)}, or --schema FILE",
        )
    return replace(found, topic=topic or found.topic, key=(key or found.key).upper())
