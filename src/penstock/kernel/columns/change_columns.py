"""Changes of a table on a repartition topic, as a column of new values and one of old values."""

from __future__ import annotations

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import NotVectorisableError, require_known
from penstock.kernel.columns.subscriptions import MESSAGE_SERDES
from penstock.model.user_code import user_code
from penstock.serde.base import Serde
from penstock.serde.change import ChangeSerde, join_change, split_change
from penstock.serde.column_serde import Encoded

_OLD, _NEW = 0, 1


def require_known_values(serde: Serde[object]) -> None:
    """Raise unless values of this serde have a column form.

    Changes have two columns, and messages of foreign-key joins have some for their parts.
    """
    if isinstance(serde, (ChangeSerde, *MESSAGE_SERDES)):
        if serde.inner is None:
            raise NotVectorisableError(f"value serde {type(serde).__name__} has no column form")
        serde = serde.inner
    require_known(serde, "value")


def split_changes(data: Encoded) -> tuple[list[bytes | None], list[bytes | None]]:
    """Return the bytes of the new and of the old values.

    Raises:
        NotProvenError: if a record is no change, or if a change is out of order.
    """
    new: list[bytes | None] = []
    old: list[bytes | None] = []
    for item in data:
        if item is None:
            raise NotProvenError("a record of a table has no change")
        kind = item[-1] if item else -1
        if kind == _NEW:
            new.append(item[:-1])
            old.append(None)
        elif kind == _OLD:
            new.append(None)
            old.append(item[:-1])
        else:
            one, other = _split(item)
            new.append(one)
            old.append(other)
    return new, old


def _split(item: bytes) -> tuple[bytes | None, bytes | None]:
    with user_code("serde ChangeSerde"):
        new, old, is_latest = split_change(item)
    if not is_latest:
        raise NotProvenError("a change of a versioned table is out of order")
    return new, old


def joined_changes(batch: Batch, serde: ChangeSerde) -> list[bytes | None]:
    """Return the bytes of the changes of a batch."""
    new = _bytes_of(batch.values, serde)
    old = [None] * len(batch) if batch.old is None else _bytes_of(batch.old, serde)
    with user_code("serde ChangeSerde"):
        return [join_change(*pair) for pair in zip(new, old, strict=True)]


def _bytes_of(column: BatchColumn, serde: ChangeSerde) -> Encoded:
    """Return the bytes of values; raise if one that is not null has none."""
    assert serde.inner is not None
    found = column.encoded(serde.inner)
    if None in found and [data is not None for data in found] != column.are_known():
        raise NotProvenError("a value has no bytes")
    return found
