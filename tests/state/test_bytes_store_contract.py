"""The contract of every ordered map of bytes, run for each engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.errors import InvalidStateError
from penstock.model.record import Headers, RecordContext
from penstock.state.bytes_store import BytesStore, Entry, KeyRange, Write
from penstock.state.engine.memory import MemoryStore
from penstock.state.layers.changelogged import ChangeLogged
from penstock.state.layers.metered import Metered
from tests.state.engines import ENGINES, EngineFactory, opened

keys = st.one_of(st.binary(max_size=2), st.sampled_from([b"", b"\xff", b"\xff\xff", b"a", b"a\0"]))
values = st.binary(max_size=3)
bounds = st.none() | keys


class Silent:
    """Takes changelog records and measurements, and keeps neither."""

    def append(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None: ...

    def append_all(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
    ) -> None: ...

    def record(self, store: str, operation: str, elapsed_ns: int) -> None: ...

    def opened(self, store: str) -> int:
        return 0

    def closed(self, store: str, number: int) -> None: ...


# Layers that are transparent keep the contract of what is below them.
LAYERED: dict[str, EngineFactory] = {
    "changelogged": lambda directory: ChangeLogged(
        MemoryStore(), Silent(), RecordContext(0, 0, 0, "t")
    ),
    "metered": lambda directory: Metered(MemoryStore(), "store", Silent()),
}


@pytest.fixture(params=sorted([*ENGINES, *LAYERED]))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BytesStore]:
    engine = {**ENGINES, **LAYERED}[request.param](tmp_path)
    yield engine
    engine.close()


def fill(store: BytesStore, count: int) -> list[Entry]:
    entries = [(b"%05d" % number, b"v%d" % number) for number in range(count)]
    store.write(entries)
    return entries


def test_put_is_seen_by_the_next_get(store: BytesStore) -> None:
    """A write is visible at once; None deletes."""
    assert store.get(b"k") is None
    store.put(b"k", b"1")
    assert store.get(b"k") == b"1"
    store.put(b"k", b"2")
    assert store.get(b"k") == b"2"
    store.put(b"k", None)
    assert store.get(b"k") is None


def test_empty_value_is_a_value(store: BytesStore) -> None:
    """No bytes is not None."""
    store.put(b"k", b"")
    assert store.get(b"k") == b""
    assert list(store.scan(None, None)) == [(b"k", b"")]


def test_multi_get_answers_in_order_of_the_question(store: BytesStore) -> None:
    """One answer per key, None for what is absent, repeated keys included."""
    store.write([(b"a", b"1"), (b"b", b"2")])
    assert store.multi_get([b"b", b"x", b"a", b"b"]) == [b"2", None, b"1", b"2"]
    assert store.multi_get([]) == []


def test_write_applies_in_order(store: BytesStore) -> None:
    """The last write of a key in a batch wins, and a batch may come from a generator."""
    store.write(iter([(b"a", b"1"), (b"a", None), (b"b", b"1"), (b"b", b"2"), (b"c", None)]))
    assert list(store.scan(None, None)) == [(b"b", b"2")]


def test_write_deletes_its_ranges_before_it_writes(store: BytesStore) -> None:
    """A row written together with the deletion of its range stays."""
    store.write([(b"a", b"1"), (b"b", b"1"), (b"c", b"1")])
    store.write([(b"b", b"2")], deleted=[(b"a", b"c"), (b"z", b"y")])
    assert list(store.scan(None, None)) == [(b"b", b"2"), (b"c", b"1")]
    store.write([], deleted=[(b"b", b"d")])
    assert list(store.scan(None, None)) == []


def test_scan_is_half_open_and_in_unsigned_byte_order(store: BytesStore) -> None:
    """Start is included, end is not, None is open, 0x80 comes after 0x7f."""
    names = [b"", b"\x00", b"\x7f", b"\x80", b"\x80\x00", b"\xff"]
    store.write([(name, b"v") for name in reversed(names)])
    assert [key for key, _ in store.scan(None, None)] == names
    assert [key for key, _ in store.scan(b"\x00", b"\x80")] == names[1:3]
    assert [key for key, _ in store.scan(b"\x00", b"\x80", reverse=True)] == names[2:0:-1]
    assert [key for key, _ in store.scan(b"\x80", None, reverse=True)] == names[:2:-1]
    assert list(store.scan(b"b", b"a")) == []
    assert list(store.scan(b"a", b"a")) == []
    assert list(store.scan(None, b"")) == []


def test_delete_range_is_half_open(store: BytesStore) -> None:
    """Start is deleted, end stays, and a range the wrong way round deletes nothing."""
    entries = fill(store, 100)
    store.delete_range(b"00010", b"00090")
    assert list(store.scan(None, None)) == entries[:10] + entries[90:]
    store.delete_range(b"9", b"0")
    assert len(list(store.scan(None, None))) == 20


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [3, 100, 5_000])
def test_scan_sees_the_moment_it_began(store: BytesStore, count: int, *, reverse: bool) -> None:
    """Writes, deletes and range deletes after scan() change nothing in it, read or not."""
    entries = fill(store, count)
    unread = store.scan(None, None, reverse=reverse)
    half_read = store.scan(None, None, reverse=reverse)
    head = list(islice(half_read, count // 2))
    store.write([(key, b"new") for key, _ in entries[::2]])
    store.put(b"00001x", b"added")
    store.delete_range(entries[0][0], entries[-1][0])
    expected = entries[::-1] if reverse else entries
    assert list(unread) == expected
    assert head + list(half_read) == expected


def test_deleting_while_scanning_reaches_every_entry(store: BytesStore) -> None:
    """The usual clean-up loop: delete each entry that the scan gives."""
    fill(store, 1_000)
    for key, _ in store.scan(None, None):
        store.put(key, None)
    assert list(store.scan(None, None)) == []


def test_approximate_num_entries_counts_what_was_put(store: BytesStore) -> None:
    """Exact while nothing was overwritten, which is all an engine promises."""
    fill(store, 500)
    assert store.approximate_num_entries() == 500


def test_scan_that_outlives_its_store_raises(store: BytesStore) -> None:
    """Ending early without a word would look like the end of the data."""
    fill(store, 5_000)
    scan = store.scan(None, None)
    next(scan)
    store.close()
    with pytest.raises(InvalidStateError, match="store-closed"):
        list(scan)


def test_close_twice_is_harmless(store: BytesStore) -> None:
    """Clean-up code may close what is closed."""
    store.close()
    store.close()


def test_other_threads_may_scan_while_one_writes(store: BytesStore) -> None:
    """A scan in another thread is in order and sees each key of the start exactly once."""
    fill(store, 2_000)
    problems: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen = [key for key, _ in store.scan(b"0", b"1")]
            if len(seen) != 2_000 or seen != sorted(seen):
                problems.append(len(seen))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(4_000):
        store.put(b"%05d" % (number % 2_000), b"w%d" % number)
        store.put(b"2%05d" % number, b"other")
    done.set()
    for reader in readers:
        reader.join()
    assert problems == []


class Agreement(RuleBasedStateMachine):
    """Random operations on every engine at once, and on a plain dict; all must agree."""

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self.stores = [self._stack.enter_context(opened(engine)) for engine in sorted(ENGINES)]
        self.model: dict[bytes, bytes] = {}
        self.scans: list[tuple[list[Iterator[Entry]], Iterator[Entry]]] = []

    def between(self, start: bytes | None, end: bytes | None, reverse: bool) -> list[Entry]:
        low = b"" if start is None else start
        found = [(k, v) for k, v in self.model.items() if k >= low and (end is None or k < end)]
        return sorted(found, reverse=reverse)

    @rule(key=keys, value=values)
    def put(self, key: bytes, value: bytes) -> None:
        for store in self.stores:
            store.put(key, value)
        self.model[key] = value

    @rule(key=keys)
    def delete(self, key: bytes) -> None:
        for store in self.stores:
            store.put(key, None)
        self.model.pop(key, None)

    @rule(
        writes=st.lists(st.tuples(keys, st.none() | values), max_size=60),
        deleted=st.lists(st.tuples(keys, keys), max_size=3),
    )
    def write(self, writes: list[Write], deleted: list[KeyRange]) -> None:
        for store in self.stores:
            store.write(writes, deleted=deleted)
        for start, end in deleted:
            for key in [key for key in self.model if start <= key < end]:
                del self.model[key]
        for key, value in writes:
            if value is None:
                self.model.pop(key, None)
            else:
                self.model[key] = value

    @rule(start=keys, end=keys)
    def delete_range(self, start: bytes, end: bytes) -> None:
        for store in self.stores:
            store.delete_range(start, end)
        for key in [key for key in self.model if start <= key < end]:
            del self.model[key]

    @rule(wanted=st.lists(keys, max_size=8))
    def read(self, wanted: list[bytes]) -> None:
        expected = [self.model.get(key) for key in wanted]
        for store in self.stores:
            assert [store.get(key) for key in wanted] == expected
            assert store.multi_get(wanted) == expected

    @rule(start=bounds, end=bounds, reverse=st.booleans())
    def begin_scan(self, start: bytes | None, end: bytes | None, reverse: bool) -> None:
        scans = [store.scan(start, end, reverse=reverse) for store in self.stores]
        self.scans.append((scans, iter(self.between(start, end, reverse))))

    @precondition(lambda self: self.scans)
    @rule(which=st.integers(0, 100), count=st.integers(1, 40))
    def continue_scan(self, which: int, count: int) -> None:
        scans, model = self.scans[which % len(self.scans)]
        expected = list(islice(model, count))
        for scan in scans:
            assert list(islice(scan, count)) == expected

    @invariant()
    def all_agree(self) -> None:
        expected = self.between(None, None, False)
        for store in self.stores:
            assert list(store.scan(None, None)) == expected

    def teardown(self) -> None:
        for scans, model in self.scans:
            expected = list(model)
            for scan in scans:
                assert list(scan) == expected
        self._stack.close()


TestAgreement = Agreement.TestCase
TestAgreement.settings = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@settings(max_examples=60, deadline=None)
@given(
    writes=st.lists(
        st.tuples(st.integers(0, 300), st.none() | st.integers(0, 9)), min_size=50, max_size=400
    ),
    read_after=st.lists(st.integers(0, 30), min_size=1, max_size=8),
    reverse=st.booleans(),
)
def test_long_scans_keep_their_moment(
    writes: list[tuple[int, int | None]], read_after: list[int], *, reverse: bool
) -> None:
    """Memory reads in chunks; wherever the writes fall between them, the scan is one moment."""
    with opened("memory") as store:
        entries = fill(store, 300)
        scan, seen = store.scan(None, None, reverse=reverse), list[Entry]()
        for step, (number, value) in enumerate(writes):
            store.put(b"%05d" % number, None if value is None else b"%d" % value)
            seen.extend(islice(scan, read_after[step % len(read_after)]))
        assert [*seen, *scan] == (entries[::-1] if reverse else entries)
