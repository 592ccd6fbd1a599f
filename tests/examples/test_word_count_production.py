"""EX-28: word count as it would go to production."""

import pytest

from examples.word_count_production import app as word_count_production
from examples.word_count_production.app import build, config
from penstock import ExceptionResponse
from penstock.testing import TopologyTestDriver


def test_empty_words_are_left_out() -> None:
    """Splitting at punctuation leaves nothing behind a full stop."""
    with TopologyTestDriver(build(), config) as driver:
        driver.pipe("text-input", "Water. More water.", "...")
        assert driver.read_map("wordcount-output") == {"water": 2, "more": 1}


def test_stores_and_topics_keep_their_names() -> None:
    """Names that the user gave do not move when an operator is added."""
    with TopologyTestDriver(build(), config) as driver:
        driver.pipe("text-input", "water")
        names = driver.produced_topic_names()
    assert {"wordcount-v2-words-repartition", "wordcount-v2-word-count-store-changelog"} <= names
    described = str(build().describe())
    for name in ("lines", "split-lines", "drop-empty-words", "key-by-word", "count-words"):
        assert name in described


@pytest.mark.parametrize(("replicas", "in_sync"), [(1, "1"), (3, "2")])
def test_changelog_insists_on_all_replicas_but_one(
    monkeypatch: pytest.MonkeyPatch, replicas: int, in_sync: str
) -> None:
    """A broker may be away for maintenance without stopping the application."""
    monkeypatch.setattr(word_count_production, "REPLICAS", replicas)
    store = build().graph.stores["word-count-store"]
    assert dict(store.changelog_config)["min.insync.replicas"] == in_sync
    assert store.caching


def test_a_failed_batch_is_started_again() -> None:
    """Nothing of the batch was committed, so trying again is safe."""
    response = word_count_production.on_error(RuntimeError("worker lost"))
    assert response is ExceptionResponse.REPLACE_THREAD
