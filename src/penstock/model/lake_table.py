"""The name of a table in a lakehouse, such as ``delta:/lake/orders``."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InvalidArgumentError

_EXAMPLE = "delta:/lake/orders"


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A table, by its format and its folder."""

    kind: str
    folder: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.folder}"


def lake_table(text: object, at: str | None = None) -> LakeTable:
    """Read the name of a table that can be written.

    >>> lake_table("delta:/lake/orders/")
    LakeTable(kind='delta', folder='/lake/orders')

    Args:
        at: the line of the program that names it.

    Raises:
        InvalidArgumentError: ``bad-lake-table``.
    """
    if not isinstance(text, str):
        raise _refused(text, "a table is named by text", at)
    kind, colon, place = text.partition(":")
    if not colon or not place or kind not in ("delta", "iceberg"):
        raise _refused(text, "the name of a table is its format and its folder", at)
    if kind == "iceberg":
        raise _refused(text, "tables in the format of Iceberg cannot be written yet", at)
    folder = place.removeprefix("file://")
    if "://" in folder:
        raise _refused(text, "tables in an object store cannot be written yet", at)
    if not folder.startswith("/") or not folder.strip("/"):
        # The driver and the executors have different working folders.
        raise _refused(text, "the folder of a table is a whole path", at)
    return LakeTable(kind, folder.rstrip("/"))


def _refused(given: object, why: str, at: str | None) -> InvalidArgumentError:
    return InvalidArgumentError(
        "bad-lake-table",
        f"rows cannot go to {given!r}: {why}",
        fix=f"name a Delta table in a folder that all machines have, such as {_EXAMPLE!r}",
        at=at,
    )
