"""EX-29: the store of a word count."""

from examples.word_lookup.app import build
from tests.examples.play import played


def test_store_answers_by_word_and_by_range() -> None:
    """The range has both of its ends."""
    with played("word_lookup", build()) as driver:
        store = driver.get_key_value_store("word-count-store")
        assert store.get("kafka") == 2
        assert store.get("rabbit") is None
        assert dict(store.range("kafka", "log")) == {"kafka": 2, "keeps": 1, "kept": 1, "log": 3}
