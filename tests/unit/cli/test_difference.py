"""What ``penstock run --reload`` shows of two runs; reading topics is in ``tests/integration``."""

import pytest

from penstock import StreamsBuilder
from penstock.cli.live.difference import Changed, changes, output_topics, print_changes


def test_the_last_values_of_keys_are_compared_by_topic() -> None:
    """A cache leaves out updates in between, so those are no difference."""
    before = {("counts", "NO"): "3", ("counts", "PT"): "2", ("big", "o-1"): "x"}
    after = {("counts", "NO"): "2", ("counts", "JP"): "1", ("big", "o-1"): "x"}
    assert list(changes(before, after)) == [
        Changed("counts", "JP", None, "1"),
        Changed("counts", "NO", "3", "2"),
        Changed("counts", "PT", "2", None),
    ]


def test_what_is_gone_and_what_is_new_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_changes({("counts", "NO"): "3", ("counts", "PT"): "2"}, {("counts", "NO"): "2"})
    assert capsys.readouterr().err.splitlines() == [
        "difference to the last run:",
        "  counts",
        "    - NO  3",
        "    + NO  2",
        "    - PT  2",
        "  0 keys are the same",
    ]


def test_equal_output_is_said_to_be_equal(capsys: pytest.CaptureFixture[str]) -> None:
    """Silence could also mean that nothing was compared."""
    print_changes({("counts", "NO"): "3"}, {("counts", "NO"): "3"})
    assert "the last run wrote the same: 1 keys" in capsys.readouterr().err


def test_many_differences_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    before = {("counts", f"{number:02}"): "1" for number in range(30)}
    print_changes(before, {})
    text = capsys.readouterr().err
    assert text.count("    - ") == 20
    assert "10 more keys differ, 0 keys are the same" in text


def test_output_is_what_the_program_names_and_nothing_internal() -> None:
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by(lambda _, value: value).count("counts")
    counts.to_stream().to("out")
    assert output_topics(builder.build().graph) == ["out"]
