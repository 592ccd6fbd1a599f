"""A global store in a processor: reads pass, writes raise, whatever they look like."""

from typing import Any

import pytest

from penstock.errors import UnsupportedOperationError
from penstock.kernel.read_only_store import ReadOnlyStore


class Names(dict[str, int]):
    name = "names"

    def put(self, key: str, value: int) -> None:
        self[key] = value


@pytest.fixture
def inner() -> Names:
    return Names(a=1, b=2)


def test_reads_are_those_of_the_store(inner: Names) -> None:
    """Also the ones that are written with operators."""
    store = ReadOnlyStore(inner)
    assert (store.name, store.get("a"), store["b"], list(store)) == ("names", 1, 2, ["a", "b"])
    assert "a" in store
    assert "z" not in store


@pytest.mark.parametrize(
    "name", ["put", "put_if_absent", "put_all", "delete", "remove", "restore", "flush", "close"]
)
def test_every_method_that_writes_is_refused(inner: Names, name: str) -> None:
    """The error names the store and the method, before anything is called."""
    with pytest.raises(UnsupportedOperationError, match=f"'names' is read-only here: {name}") as e:
        getattr(ReadOnlyStore(inner), name)
    assert e.value.code == "global-store-read-only"


def test_operators_that_write_are_refused(inner: Names) -> None:
    """The store stays as it was."""
    store: Any = ReadOnlyStore(inner)
    with pytest.raises(UnsupportedOperationError):
        store["a"] = 5
    with pytest.raises(UnsupportedOperationError):
        del store["a"]
    assert inner == {"a": 1, "b": 2}
