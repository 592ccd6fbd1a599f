"""Texts that come again have one number for all pieces of a batch."""

from __future__ import annotations

from penstock.kernel.columns.batch_column import DictionaryBatchColumn
from penstock.kernel.columns.vocabulary import Vocabulary
from penstock.model.columns.dictionary_bytes import DictionaryBytes, joined_columns
from penstock.serde.primitives import StringSerde


def test_pieces_share_their_texts() -> None:
    """Putting pieces together again must not look at the texts once more."""
    vocabulary = Vocabulary()
    pieces = [["a", "b"] * 50, ["b", "ä", "a", "c"] * 50]
    columns = [vocabulary.column(piece) for piece in pieces]
    assert [column.values() for column in columns] == pieces
    encoded = [column.encoded(StringSerde()) for column in columns]
    assert [[*each] for each in encoded] == [[text.encode() for text in p] for p in pieces]
    whole = joined_columns(encoded)
    assert isinstance(whole, DictionaryBytes)
    assert whole.different == [b"a", b"b", "ä".encode(), b"c"]


def test_texts_that_hardly_come_again_stay_as_they_are() -> None:
    """Numbers for them would cost more than they save."""
    texts = [str(number) for number in range(100)]
    column = Vocabulary().column(texts)
    assert not isinstance(column, DictionaryBatchColumn)
    assert column.values() == texts


def test_a_text_that_utf_8_does_not_have_is_no_error_here() -> None:
    """Nobody may want its bytes."""
    vocabulary = Vocabulary()
    texts = ["a", "\ud800"] * 50
    for _ in range(2):
        column = vocabulary.column(texts)
        assert not isinstance(column, DictionaryBatchColumn)
        assert column.values() == texts


def test_only_texts_are_numbered() -> None:
    """A number equals a float, and True: they must not take each other's place."""
    values = [1, 1.0, True, "1"] * 50
    assert [*map(type, Vocabulary().column(values).values())] == [int, float, bool, str] * 50
