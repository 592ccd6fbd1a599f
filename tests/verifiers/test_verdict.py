"""What counts as passed, the names of the command line, and the offsets that show progress."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.verifiers.__main__ import main
from tests.verifiers.jars import LATEST, WITH_EOS, listed
from tests.verifiers.kills import KINDS, Kills, Progress
from tests.verifiers.report import Verdict, differences, table


def test_verdict_wants_the_judge_and_every_kill() -> None:
    """A run in which a wanted kill never came has not shown what it should."""
    verdict = Verdict("smoke", "exactly_once_v2", Counter(driver=2), ("driver", "jvm"), "SUCCESS")
    assert not verdict.is_ok
    assert "never killed: jvm" in table([verdict])
    verdict.kills["jvm"] = 1
    assert verdict.is_ok
    assert table([verdict]).endswith("all 1 passed")
    verdict.problems.append("ended by itself: KABOOM")
    assert "KABOOM" in table([verdict])
    assert table([verdict]).endswith("1 of 1 FAILED")


def test_verdict_without_a_word_of_the_judge_is_a_failure() -> None:
    """A run that ends without an error has not been judged yet."""
    silent = Verdict("eos", "exactly_once_v2")
    assert not silent.is_ok
    assert "the judge has not said" in table([silent])


def test_sum_may_be_too_great_only_with_at_least_once() -> None:
    """A sum that is too small has lost a record, which no guarantee allows."""
    expected, found = {"a": 5, "b": 5, "c": 5}, {"a": 6, "b": 4, "d": 1}
    assert differences(expected, found, may_double=False) == {
        "a": (6, 5), "b": (4, 5), "c": (None, 5), "d": (1, None),
    }  # fmt: skip
    assert "a" not in differences(expected, found, may_double=True)
    assert len(differences(expected, found, may_double=True)) == 3


def test_commit_from_before_a_kill_is_no_recovery() -> None:
    """A commit counts from the answer before the one that shows it: it may be as old as that."""
    progress = Progress("127.0.0.1:1", "application")
    progress.note({("data", 0): 5}, 100.0)
    progress.note({("data", 0): 5}, 101.0)
    progress.note({("data", 0): 9}, 102.0)
    assert progress.committed_s == 101.0
    assert not progress.has_committed(101.5)
    progress.note({("data", 0): 9, ("data", 1): 1}, 103.0)
    assert progress.has_committed(101.5)


@pytest.mark.parametrize("arguments", [["smokes"], ["smoke", "--kills", "thread,host"]])
def test_unknown_name_is_refused_with_the_known_ones(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A verifier that is spelled wrongly must not look as if it had passed."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "is not one of" in capsys.readouterr().err


def test_verifier_cannot_be_run_with_a_guarantee_that_it_does_not_judge(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Java's exactly-once verifier would find doubled results that at least once allows."""
    with pytest.raises(SystemExit) as caught:
        main(["eos", "--guarantee", "at_least_once"])
    assert caught.value.code == 2
    assert "at_least_once" in capsys.readouterr().err


def test_every_kind_of_kill_is_a_fault_of_the_cluster_test() -> None:
    """The command line offers only what can be done."""
    assert [kind for kind in KINDS if not callable(getattr(Kills, kind, None))] == []


def test_test_jars_are_found_under_their_classifier() -> None:
    """The generators and verifiers are in the jars that Maven calls ``test``."""
    for version in (LATEST, WITH_EOS):
        tests = [jar for jar in listed(version).jars if jar.file.endswith("-test.jar")]
        assert [jar.path for jar in tests] == [
            f"org/apache/kafka/kafka-streams/{version}/kafka-streams-{version}-test.jar"
        ]
