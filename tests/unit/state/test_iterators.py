"""Store iterators: a context manager that can peek."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.errors import InvalidStateError
from penstock.state.iterators import PeekingIterator, empty_iterator


def items() -> PeekingIterator[tuple[str, int]]:
    return PeekingIterator(iter([("a", 1), ("b", 2)]))


def test_peek_shows_the_next_key_without_taking_it() -> None:
    """Peeking any number of times leaves the iteration where it was."""
    iterator = items()
    assert iterator.peek_next_key() == "a"
    assert iterator.peek_next_key() == "a"
    assert next(iterator) == ("a", 1)
    assert iterator.peek_next_key() == "b"
    assert list(iterator) == [("b", 2)]


def test_peek_at_the_end_raises() -> None:
    """There is no next key, and None could be taken for one."""
    iterator = items()
    list(iterator)
    assert not iterator.has_next()
    with pytest.raises(InvalidStateError, match="iterator-exhausted"):
        iterator.peek_next_key()


def test_has_next_takes_nothing() -> None:
    """Java's loop of hasNext and next reads every item once."""
    iterator, seen = items(), list[tuple[str, int]]()
    while iterator.has_next():
        seen.append(next(iterator))
    assert seen == [("a", 1), ("b", 2)]


def test_leaving_the_block_closes_the_source() -> None:
    """What the engine holds for an iterator is released at once."""
    events: list[str] = []

    def source() -> Iterator[tuple[str, int]]:
        try:
            yield "a", 1
            yield "b", 2
        finally:
            events.append("released")

    with PeekingIterator(source()) as iterator:
        assert next(iterator) == ("a", 1)
        assert events == []
    assert events == ["released"]


def test_reading_after_close_raises() -> None:
    """Ending early without a word would look like the end of the data."""
    iterator = items()
    iterator.peek_next_key()
    iterator.close()
    iterator.close()
    with pytest.raises(InvalidStateError, match="iterator-closed"):
        next(iterator)
    with pytest.raises(InvalidStateError, match="iterator-closed"):
        iterator.has_next()


def test_empty_iterator_is_empty() -> None:
    """An empty range is an iterator like any other."""
    with empty_iterator() as iterator:
        assert list(iterator) == []
