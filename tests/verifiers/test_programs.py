"""The verifiers' programs, with a few records and without Kafka: they compute what Java wants."""

from __future__ import annotations

import penstock as ps
from penstock.testing import TopologyTestDriver
from tests.verifiers.app import PROGRAMS, repartition_topics
from tests.verifiers.programs import relational
from tests.verifiers.programs.relational import Article, Comment

_DAY_MS = 86_400_000


def test_smoke_program_writes_what_the_verifier_expects_of_each_key() -> None:
    """A key ``0-2`` has the values 0 to 2: least, greatest, sum, count, average and difference."""
    with TopologyTestDriver(PROGRAMS["smoke"]()) as driver:
        data = driver.create_input_topic("data", "string", "integer", start=10 * _DAY_MS)
        for value in (1, 0, 2):
            data.pipe_input("0-2", value)
        last = {
            topic: driver.create_output_topic(topic, "string", serde).read_key_values_to_map()
            for topic, serde in {
                "echo": "integer", "min": "integer", "max": "integer", "dif": "integer",
                "sum": "long", "cnt": "long", "tagg": "long", "avg": "double",
            }.items()
        }  # fmt: skip
    assert last == {
        "echo": {"0-2": 2}, "min": {"0-2": 0}, "max": {"0-2": 2}, "dif": {"0-2": 2},
        "sum": {"0-2": 3}, "cnt": {"0-2": 3}, "tagg": {"1": 0, "2": 0, "3": 1},
        "avg": {"0-2": 1.0},
    }  # fmt: skip


def test_smoke_program_writes_each_window_once_when_it_has_closed() -> None:
    """The records that flush move stream time on, and leave no result of their own."""
    with TopologyTestDriver(PROGRAMS["smoke"]()) as driver:
        data = driver.create_input_topic("data", "string", "integer", start=10 * _DAY_MS)
        data.pipe_input("0-2", 2)
        data.pipe_input("0-2", 1)
        data.pipe_input("flush", 0, 13 * _DAY_MS)
        closed = driver.create_output_topic("min-suppressed", "string", "integer")
        window = f"[0-2@{10 * _DAY_MS}/{11 * _DAY_MS}]"
        assert closed.read_key_values_to_list() == [(window, 1)]


def test_relational_program_reads_and_writes_the_bytes_of_javas_test() -> None:
    """Every value is numbers in network order and texts with their lengths."""
    article, comment = Article(7, 1_000, b"once upon a time"), Comment(3, 2_000, b"nice", 7)
    with TopologyTestDriver(PROGRAMS["relational"]()) as driver:
        articles = driver.create_input_topic("in-article", "integer", "bytes")
        comments = driver.create_input_topic("in-comment", "integer", "bytes")
        articles.pipe_input(7, relational.write_article(article))
        comments.pipe_input(3, relational.write_comment(comment))
        full_articles = driver.create_output_topic("out-augmented-article", "integer", "bytes")
        full_comments = driver.create_output_topic("out-augmented-comment", "integer", "bytes")
        found = [
            relational.read_full_article(value) for value in full_articles.read_values_to_list()
        ]
        assert found == [article, article._replace(comments=1)]
        assert full_comments.read_values_to_list() == [
            b"\0\0\0\x03\0\0\0\0\0\0\x07\xd0\0\0\0\x04nice\0\0\0\x07\0\0\0\x0aonce upon "
        ]


def test_eos_program_writes_one_result_of_each_kind_for_each_record() -> None:
    """Java compares the number of results with the number of records."""
    with TopologyTestDriver(PROGRAMS["eos-complex"](), {"statestore.cache.max.bytes": 0}) as driver:
        data = driver.create_input_topic("data", "string", "integer")
        for value in (5, 3, 4):
            data.pipe_input("k", value)
        results = {
            topic: driver.create_output_topic(topic, "string", serde).read_values_to_list()
            for topic, serde in {
                "echo": "integer", "repartition": "integer", "min": "integer", "max": "integer",
                "sum": "long", "cnt": "long",
            }.items()
        }  # fmt: skip
    assert results == {
        "echo": [5, 3, 4], "repartition": [5, 3, 4], "min": [5, 3, 3], "max": [5, 5, 5],
        "sum": [5, 8, 12], "cnt": [1, 2, 3],
    }  # fmt: skip


def test_optimized_program_shares_one_repartition_topic() -> None:
    """That is all that Java's test looks at before it wants to see records."""
    assert repartition_topics(PROGRAMS["optimized-none"]()) == 4
    assert repartition_topics(PROGRAMS["optimized-all"]()) == 1


def test_changed_program_keeps_the_names_of_topic_and_store() -> None:
    """Only the steps in front of the repartition are new, so the state of the first one fits."""
    first, changed = (
        _names(PROGRAMS[name]()) for name in ("named-repartition", "named-repartition-changed")
    )
    assert first == changed
    assert {"grouped-stream-repartition", "count-store"} <= changed


def _names(topology: ps.Topology) -> set[str]:
    text = str(topology.describe())
    return {name for name in ("grouped-stream-repartition", "count-store") if name in text}
