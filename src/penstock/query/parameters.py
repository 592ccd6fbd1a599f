"""What ``streams.store`` takes beside a name: the kind of store, one partition, copies or not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.state.spec import StoreKind


@dataclass(frozen=True, slots=True)
class QueryableStoreType:
    """A way to read a store: which kinds of stores allow it, and whether values have a time."""

    name: str
    accepted: frozenset[StoreKind]
    with_timestamps: bool = False

    def accepts(self, kind: StoreKind) -> bool:
        return kind in self.accepted


_KEY_VALUE = frozenset({StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE})
_WINDOW = frozenset({StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW})


class QueryableStoreTypes:
    """The ways to read a store, under Java's names.

    >>> QueryableStoreTypes.window_store().accepts(StoreKind.TIMESTAMPED_WINDOW)
    True
    """

    @staticmethod
    def key_value_store() -> QueryableStoreType:
        """Keys and values, without the timestamps that a store may keep."""
        return QueryableStoreType("key_value_store", _KEY_VALUE)

    @staticmethod
    def timestamped_key_value_store() -> QueryableStoreType:
        """Keys, and values as ``ValueAndTimestamp``."""
        accepted = frozenset({StoreKind.TIMESTAMPED_KEY_VALUE})
        return QueryableStoreType("timestamped_key_value_store", accepted, with_timestamps=True)

    @staticmethod
    def window_store() -> QueryableStoreType:
        """Windows and values, without the timestamps that a store may keep."""
        return QueryableStoreType("window_store", _WINDOW)

    @staticmethod
    def timestamped_window_store() -> QueryableStoreType:
        """Windows, and values as ``ValueAndTimestamp``."""
        accepted = frozenset({StoreKind.TIMESTAMPED_WINDOW})
        return QueryableStoreType("timestamped_window_store", accepted, with_timestamps=True)

    @staticmethod
    def session_store() -> QueryableStoreType:
        """Sessions and their values."""
        return QueryableStoreType("session_store", frozenset({StoreKind.SESSION}))


@dataclass(frozen=True, slots=True)
class StoreQueryParameters:
    """Which store to read, and how. Every method returns a changed copy.

    Unlike ``streams.store(name)`` it reads no copies of an instance that stands by, unless
    ``enable_stale_stores`` allows them: that is Java's rule.

    >>> counts = QueryableStoreTypes.key_value_store()
    >>> StoreQueryParameters.from_name_and_type("counts", counts).with_partition(1).partition
    1
    """

    store_name: str
    queryable_store_type: QueryableStoreType
    #: None reads all partitions.
    partition: int | None = None
    stale_stores_enabled: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.queryable_store_type, QueryableStoreType):
            raise InvalidArgumentError(
                "not-a-store-type",
                f"store {self.store_name!r}: {self.queryable_store_type!r} is no type of store",
                fix="give what QueryableStoreTypes makes, such as"
                " QueryableStoreTypes.key_value_store()",
                at=caller_site(),
            )

    @staticmethod
    def from_name_and_type(
        store_name: str, queryable_store_type: QueryableStoreType
    ) -> StoreQueryParameters:
        """Return parameters that read all partitions, from the tasks themselves."""
        return StoreQueryParameters(store_name, queryable_store_type)

    def with_partition(self, partition: int) -> StoreQueryParameters:
        """Read one partition only."""
        return replace(self, partition=partition)

    def enable_stale_stores(self) -> StoreQueryParameters:
        """Accept copies, which may be behind, from an instance that stands by."""
        return replace(self, stale_stores_enabled=True)


def store_name_of(asked: str | StoreQueryParameters) -> str:
    """Return the name of the store that is asked for."""
    return asked.store_name if isinstance(asked, StoreQueryParameters) else asked
