"""A store as of an earlier commit. Exercises ``looking_back`` and ``past.fitting``."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.serving.application import NoSuchCommitError
from penstock.serving.past.past_reader import MOST_CHANGES, PastReader
from penstock.serving.question import KeyQuestion, PrefixQuestion, Question, RangeQuestion
from tests.unit.serving.memory_application import MemoryApplication, one_instance, store_info


def made() -> MemoryApplication:
    """One partition, so that a test sees all keys together."""
    return one_instance(store_info("s", partitions=1))


def rows(application: MemoryApplication, question: Question, number: int) -> dict[str, Any]:
    reader = PastReader(application)
    page = reader.read(application.cluster.infos["s"], 0, question, reader.commit(number))
    return {row.key: row.value for row in page.rows}


EVERYTHING = RangeQuestion(limit=1_000)


def test_a_key_has_the_value_that_it_had() -> None:
    """Later changes are undone: new values, new keys and deletions."""
    application = made()
    cluster = application.cluster
    cluster.write("s", ("a", 1), ("b", 1), ("c", 1))
    cluster.commit(1)
    cluster.write("s", ("a", 2), ("b", None), ("d", 1))
    cluster.commit(2)
    cluster.write("s", ("a", 3), ("b", 9))
    assert rows(application, EVERYTHING, 1) == {"a": 1, "b": 1, "c": 1}
    assert rows(application, EVERYTHING, 2) == {"a": 2, "c": 1, "d": 1}
    assert rows(application, KeyQuestion("a"), 2) == {"a": 2}
    assert rows(application, KeyQuestion("b"), 2) == {}
    assert rows(application, KeyQuestion("c"), 1) == {"c": 1}
    assert rows(application, PrefixQuestion(prefix=b"b", limit=9), 1) == {"b": 1}
    assert rows(application, RangeQuestion(start="b", end="c", limit=9), 2) == {"c": 1}


@pytest.mark.parametrize("seed", range(8))
def test_pages_of_the_past_put_together_are_the_whole_past(seed: int) -> None:
    """For any history, any page size, and both directions: what a plain recomputation says."""
    chosen = random.Random(seed)
    application = one_instance(store_info("s", partitions=3))
    truth, states = dict[str, int](), dict[int, dict[str, int]]()
    for number in range(12):
        for _ in range(chosen.randrange(20)):
            key, value = f"k{chosen.randrange(25):02d}", chosen.choice([None, 1, 2, 3])
            application.cluster.write("s", (key, value))
            truth.pop(key, None)
            if value is not None:
                truth[key] = value
        application.cluster.commit(number)
        states[number] = dict(truth)
    reader = PastReader(application)
    info = application.cluster.infos["s"]
    for number, expected in states.items():
        reverse, found, after = chosen.random() < 0.5, dict[str, int](), None
        while True:
            question = RangeQuestion(limit=chosen.randrange(1, 9), reverse=reverse, after=after)
            page = reader.page(info, range(3), question, reader.commit(number))
            assert not page.unknown
            found |= {row.key: row.value for row in page.rows}
            after = page.reached
            if after is None:
                break
        assert found == expected
        assert [*found] == sorted(expected, reverse=reverse)


def test_an_older_value_that_was_compacted_is_unknown_and_not_guessed() -> None:
    """The log has only the newest record of the key, so nobody knows what it held before."""
    application = made()
    application.cluster.write("s", ("a", 1), ("b", 1), ("x", 1))
    application.cluster.commit(1)
    application.cluster.write("s", ("a", 2))
    del application.cluster.logs["s", 0][0]
    reader = PastReader(application)
    info = application.cluster.infos["s"]
    page = reader.read(info, 0, EVERYTHING, reader.commit(1))
    assert [place.key for place in page.unknown] == [b"a"]
    assert [row.key for row in page.rows] == ["b", "x"]


def test_a_difference_has_both_values() -> None:
    """New, changed and deleted rows; a row that did not change is not there."""
    application = made()
    cluster = application.cluster
    cluster.write("s", ("a", 1), ("b", 1), ("c", 1))
    cluster.commit(1)
    cluster.write("s", ("a", 2), ("b", None), ("d", 5), ("d", 6))
    cluster.commit(2)
    cluster.write("s", ("c", 9))
    reader = PastReader(application)
    found, has_more = reader.difference(
        cluster.infos["s"], 0, reader.commit(1), reader.commit(2), 10
    )
    shown = {
        each.key: (each.before and each.before.value, each.after and each.after.value)
        for each in found
    }
    assert shown == {"a": (1, 2), "b": (1, None), "d": (None, 6)}
    assert (has_more, all(each.is_known for each in found)) == (False, True)
    limited = reader.difference(cluster.infos["s"], 0, reader.commit(1), reader.commit(2), 2)
    assert (len(limited[0]), limited[1]) == (2, True)


def test_the_history_of_a_key_says_which_commit_brought_each_value() -> None:
    """The newest first."""
    application = made()
    cluster = application.cluster
    cluster.write("s", ("a", 1), ("b", 1))
    cluster.commit(1)
    cluster.write("s", ("a", 2))
    cluster.commit(2)
    cluster.write("s", ("b", 3), ("a", 4))
    cluster.commit(3)
    found = PastReader(application).history(cluster.infos["s"], 0, "a", 10)
    assert [(change.value, commit) for change, commit in found.changes] == [
        (4, 3),
        (2, 2),
        (1, None),
    ]
    assert found.is_whole
    assert not PastReader(application).history(cluster.infos["s"], 0, "a", 2).is_whole


def test_hot_keys_are_those_that_change_most() -> None:
    """Among the newest changes."""
    application = made()
    application.cluster.write("s", *[("hot", n) for n in range(9)], ("cold", 1), ("hot", 10))
    application.cluster.commit(1)
    found = PastReader(application).hot_keys(application.cluster.infos["s"], 0, 5)
    assert found == [("hot", 10), ("cold", 1)]


def test_a_commit_that_is_gone_is_refused() -> None:
    """It says which ones there are."""
    application = made()
    application.cluster.commit(5)
    with pytest.raises(NoSuchCommitError, match="between 5 and 5"):
        PastReader(application).commit(3)


def test_a_commit_too_far_back_is_refused_before_anything_is_read() -> None:
    """A page costs as much as has changed since, so that has to be bounded."""
    application = made()
    application.cluster.commit(1)
    application.cluster.write("s", ("a", 1))
    log = application.cluster.logs["s", 0]
    log[0] = log[0]._replace(offset=MOST_CHANGES + 1)
    reader = PastReader(application)
    with pytest.raises(NoSuchCommitError, match="choose a later commit") as raised:
        reader.read(application.cluster.infos["s"], 0, EVERYTHING, reader.commit(1))
    assert raised.value.code == "commit-too-far"
