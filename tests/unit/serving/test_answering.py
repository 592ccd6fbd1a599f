"""Every kind of store answers every question about it, page after page, like a plain list."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UnsupportedOperationError
from penstock.model.versioned import ValueAndTimestamp
from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.serdes import Serdes
from penstock.serving.answering import StoreAnswers
from penstock.serving.application import Row
from penstock.serving.question import (
    KeyQuestion,
    PrefixQuestion,
    Question,
    RangeQuestion,
    SessionQuestion,
    VersionsQuestion,
    WindowQuestion,
)
from penstock.state.engine.rocks import open_rocks
from penstock.state.open import open_store
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kinds import session, versioned, window
from tests.state.kit import Task

KEYS = ["", "a", "ab", "b", "ä", "b\uffff"]


def answers(spec: StoreSpec, fill: Callable[[Any], None]) -> StoreAnswers:
    store = open_store(spec, Task().env)
    fill(store)
    return StoreAnswers(store, Serdes.string(), "t")


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(mkdtemp())
    yield made
    shutil.rmtree(made)


def pages(reader: StoreAnswers, question: Any) -> list[Row]:
    """Ask page after page, as a client does."""
    found: list[Row] = []
    while True:
        rows, has_more = reader.answer(question)
        assert len(rows) <= question.limit
        found += rows
        if not has_more:
            return found
        question = replace(question, after=rows[-1].order)


def key_value(kind: StoreKind) -> StoreSpec:
    return StoreSpec(name="store", kind=kind, persistent=False)


def fill_plain(store: Any) -> None:
    for number, key in enumerate(KEYS):
        store.put(key, str(number))


def fill_stamped(store: Any) -> None:
    for number, key in enumerate(KEYS):
        store.put(key, ValueAndTimestamp(str(number), 100 + number))


def test_one_key_has_one_value() -> None:
    reader = answers(key_value(StoreKind.KEY_VALUE), fill_plain)
    assert reader.answer(KeyQuestion("ab")) == ([Row("ab", "2")], False)
    assert reader.answer(KeyQuestion("")) == ([Row("", "0")], False)
    assert reader.answer(KeyQuestion("nobody")) == ([], False)
    reader = answers(key_value(StoreKind.TIMESTAMPED_KEY_VALUE), fill_stamped)
    assert reader.answer(KeyQuestion("ab")) == ([Row("ab", "2", 102)], False)


@given(
    st.sampled_from([None, *KEYS]),
    st.sampled_from([None, *KEYS]),
    st.booleans(),
    st.integers(1, 7),
)
def test_ranges_are_those_of_the_serialized_keys(
    start: str | None, end: str | None, reverse: bool, limit: int
) -> None:
    reader = answers(key_value(StoreKind.TIMESTAMPED_KEY_VALUE), fill_stamped)
    found = pages(reader, RangeQuestion(start=start, end=end, reverse=reverse, limit=limit))
    expected = sorted(
        (
            key
            for key in KEYS
            if (start is None or key.encode() >= start.encode())
            and (end is None or key.encode() <= end.encode())
        ),
        key=lambda key: key.encode(),
        reverse=reverse,
    )
    assert [row.key for row in found] == expected
    assert all(row.timestamp == 100 + KEYS.index(row.key) for row in found)


def test_a_place_outside_of_the_range_does_not_widen_it() -> None:
    reader = answers(key_value(StoreKind.KEY_VALUE), fill_plain)
    rows, _ = reader.answer(RangeQuestion(start="b", limit=9, after=b"a"))
    assert [row.key for row in rows] == ["b", "b\uffff", "ä"]
    rows, _ = reader.answer(RangeQuestion(end="ab", limit=9, after=b"b", reverse=True))
    assert [row.key for row in rows] == ["ab", "a", ""]


@given(
    st.sampled_from([b"", b"a", b"ab", b"b", "ä".encode()[:1], b"zz"]),
    st.booleans(),
    st.integers(1, 7),
)
def test_prefixes_are_those_of_the_bytes(prefix: bytes, reverse: bool, limit: int) -> None:
    reader = answers(key_value(StoreKind.KEY_VALUE), fill_plain)
    found = pages(reader, PrefixQuestion(prefix=prefix, reverse=reverse, limit=limit))
    fitting = sorted(key.encode() for key in KEYS if key.encode().startswith(prefix))
    assert [row.key.encode() for row in found] == (fitting[::-1] if reverse else fitting)


WINDOWS = [(key, start) for start in range(0, 60, 5) for key in ("a", "ab", "b")]


def fill_windows(store: Any) -> None:
    for key, start in WINDOWS:
        is_stamped = store.kind is StoreKind.TIMESTAMPED_WINDOW
        value: Any = f"{key}{start}"
        store.put(key, ValueAndTimestamp(value, start + 1) if is_stamped else value, start)


@pytest.mark.parametrize("kind", [StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [1, 4, 100])
def test_windows_of_one_key_and_of_many(
    kind: StoreKind, persistent: bool, reverse: bool, limit: int, folder: Path
) -> None:
    spec = window(kind=kind, persistent=persistent)
    task = Task(engine=lambda name: open_rocks(folder, name))
    store = open_store(spec, task.env)
    fill_windows(store)
    reader = StoreAnswers(store, Serdes.string(), "t")
    try:
        found = pages(
            reader, WindowQuestion(key="ab", time_from=10, time_to=40, reverse=reverse, limit=limit)
        )
        starts = list(range(10, 45, 5))
        assert [row.window_start for row in found] == (starts[::-1] if reverse else starts)
        assert all(row.window_end == (row.window_start or 0) + 10 for row in found)
        is_stamped = kind is StoreKind.TIMESTAMPED_WINDOW
        assert all((row.timestamp is not None) == is_stamped for row in found)
        found = pages(
            reader,
            RangeQuestion(start="ab", time_from=10, time_to=40, reverse=reverse, limit=limit),
        )
        expected = [(s, key) for key, s in WINDOWS if key >= "ab" and 10 <= s <= 40]
        assert [(row.window_start, row.key) for row in found] == sorted(expected, reverse=reverse)
    finally:
        store.close()


SESSIONS = [("a", 0, 5), ("a", 20, 30), ("ab", 3, 3), ("b", 20, 21), ("a", 40, 80)]


def fill_sessions(store: Any) -> None:
    for key, start, end in SESSIONS:
        store.put(Windowed(key, Window(start, end)), f"{key}{start}")


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_sessions_overlap_the_span(reverse: bool, limit: int) -> None:
    reader = answers(session(persistent=False), fill_sessions)

    def found(question: Question) -> list[tuple[str, int | None, int | None]]:
        return [(row.key, row.window_start, row.window_end) for row in pages(reader, question)]

    def ordered(*expected: tuple[str, int, int]) -> list[tuple[str, int, int]]:
        return list(reversed(expected)) if reverse else list(expected)

    given = {"reverse": reverse, "limit": limit}
    assert found(SessionQuestion(key="a", **given)) == ordered(
        ("a", 0, 5), ("a", 20, 30), ("a", 40, 80)
    )
    assert found(SessionQuestion(key="a", time_from=5, time_to=25, **given)) == ordered(
        ("a", 0, 5), ("a", 20, 30)
    )
    assert found(RangeQuestion(time_from=3, time_to=20, **given)) == ordered(
        ("ab", 3, 3), ("a", 20, 30), ("b", 20, 21)
    )


def fill_versions(store: Any) -> None:
    for value, at in (("one", 10), ("two", 20), (None, 30), ("three", 40)):
        store.put("a", value, at)


def test_versions_are_those_of_a_time() -> None:
    reader = answers(versioned(persistent=False), fill_versions)

    def at(as_of: int | None) -> list[tuple[Any, int | None, int | None]]:
        rows, _ = reader.answer(KeyQuestion("a", as_of))
        return [(row.value, row.timestamp, row.valid_to) for row in rows]

    assert at(None) == [("three", 40, None)]
    assert at(25) == [("two", 20, 30)]
    assert at(35) == at(5) == []
    for limit in (1, 2, 9):
        found = pages(reader, VersionsQuestion(key="a", limit=limit))
        assert [row.value for row in found] == ["one", "two", "three"]
        found = pages(reader, VersionsQuestion(key="a", time_from=15, time_to=35, limit=limit))
        assert [row.value for row in found] == ["one", "two"]


@pytest.mark.parametrize(
    ("spec", "question"),
    [
        (window(persistent=False), KeyQuestion("a")),
        (session(persistent=False), WindowQuestion(key="a", limit=1)),
        (versioned(persistent=False), RangeQuestion(limit=1)),
        (key_value(StoreKind.KEY_VALUE), SessionQuestion(key="a", limit=1)),
    ],
)
def test_other_questions_are_refused(spec: StoreSpec, question: Question) -> None:
    with pytest.raises(UnsupportedOperationError, match="kind"):
        answers(spec, lambda store: None).answer(question)
