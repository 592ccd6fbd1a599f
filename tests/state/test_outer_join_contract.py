"""The store of outer joins: RocksDB and memory agree with each other and with a dict of lists."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.serde.serdes import Serdes
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kinds import Bench, on_disk

Step = tuple[Any, ...]
SPEC = StoreSpec(
    name="store",
    kind=StoreKind.OUTER_JOIN,
    value_serde=Serdes.string(),
    other_value_serde=Serdes.long(),
)
keys = st.tuples(st.integers(0, 5), st.booleans(), st.sampled_from(["a", "ab", "b"]))


def _put(key: tuple[int, bool, str], number: int) -> Step:
    return "put", key, (key[1], str(number) if key[1] else number)


step = st.one_of(
    st.builds(_put, keys, st.integers(0, 9)),
    st.tuples(st.just("put"), keys, st.none()),
    st.tuples(st.just("delete_if_present"), keys),
)
steps = st.lists(step, max_size=30)


@settings(max_examples=15)
@given(steps=steps)
def test_store_agrees_with_a_dict_on_every_engine(steps: list[Step]) -> None:
    """Entries come by time, right side first, key; the values of a key in order of their puts."""
    memory, model = Bench(SPEC), dict[tuple[int, bool, str], list[Any]]()
    with on_disk(SPEC) as disk:
        for name, key, *value in steps:
            for bench in (disk, memory):
                getattr(bench.store, name)(key, *value)
            if value and value[0] is not None:
                model.setdefault(key, []).append(value[0])
            else:
                model.pop(key, None)
        wanted = [(key, value) for key in sorted(model) for value in model[key]]
        assert list(memory.store.all()) == wanted
        assert list(disk.store.all()) == wanted
        assert disk.logged == memory.logged


@given(steps=steps)
def test_store_restored_from_its_changelog_equals_the_old_one(steps: list[Step]) -> None:
    """The last record per key is enough: it has the whole list."""
    old, new = Bench(SPEC), Bench(SPEC)
    for name, key, *value in steps:
        getattr(old.store, name)(key, *value)
    compacted = {key: (key, value, time) for key, value, time in old.logged}
    new.store.restore(compacted.values())
    assert list(new.store.all()) == list(old.store.all())
    assert new.logged == []
