"""The name of a table in a lakehouse, such as ``delta:/lake/orders`` or ``iceberg:shop.orders``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import InvalidArgumentError

_EXAMPLES = "'delta:/lake/orders' or 'iceberg:shop.orders'"
#: A catalog if it is not the default one, namespaces, and a table.
_IN_CATALOG = re.compile(r"(?:([A-Za-z0-9_-]+)/)?([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)")
#: What a table of a catalog belongs to if its name does not say it; so does pyiceberg.
DEFAULT_CATALOG = "default"


@dataclass(frozen=True, slots=True)
class DeltaName:
    """A table of Delta Lake, by its folder."""

    folder: str

    def __str__(self) -> str:
        return f"delta:{self.folder}"


@dataclass(frozen=True, slots=True)
class IcebergName:
    """A table of Iceberg: the name of its catalog, and its namespaces and name there."""

    catalog: str
    table: str

    def __str__(self) -> str:
        catalog = "" if self.catalog == DEFAULT_CATALOG else f"{self.catalog}/"
        return f"iceberg:{catalog}{self.table}"


def lake_table(text: object, at: str | None = None) -> DeltaName | IcebergName:
    """Read the name of a table that can be written.

    >>> lake_table("delta:/lake/orders/")
    DeltaName(folder='/lake/orders')
    >>> lake_table("iceberg:shop.orders")
    IcebergName(catalog='default', table='shop.orders')

    Args:
        at: the line of the program that names it.

    Raises:
        InvalidArgumentError: ``bad-lake-table``.
    """
    if not isinstance(text, str):
        raise _refused(text, "a table is named by text", at)
    kind, colon, place = text.partition(":")
    if not colon or not place or kind not in ("delta", "iceberg"):
        raise _refused(text, "the name of a table is its format and its place", at)
    if kind == "iceberg":
        found = _IN_CATALOG.fullmatch(place)
        if found is None:
            why = "a table of Iceberg is namespace.table, or catalog/namespace.table"
            raise _refused(text, why, at)
        return IcebergName(found[1] or DEFAULT_CATALOG, found[2])
    folder = place.removeprefix("file://")
    if "://" in folder:
        raise _refused(text, "tables in an object store cannot be written yet", at)
    if not folder.startswith("/") or not folder.strip("/"):
        # The driver and the executors have different working folders.
        raise _refused(text, "the folder of a table is a whole path", at)
    return DeltaName(folder.rstrip("/"))


def _refused(given: object, why: str, at: str | None) -> InvalidArgumentError:
    return InvalidArgumentError(
        "bad-lake-table",
        f"rows cannot go to {given!r}: {why}",
        fix=f"name a folder that all machines have, or a table of a catalog: {_EXAMPLES}",
        at=at,
    )
