"""Sample data beside a program becomes the bytes that its sources read."""

from pathlib import Path

import pytest

from penstock import StreamsBuilder, Topology
from penstock.errors import InvalidArgumentError
from penstock.testing.sample_data import read_samples, sample_file


def topology(*topics: str, value: object = "string") -> Topology:
    builder = StreamsBuilder()
    for topic in topics:
        builder.stream(topic, value=value)  # type: ignore[call-overload, arg-type]
    return builder.build()


def written(folder: Path, text: str, name: str = "data.jsonl") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_text_is_taken_as_it_is_and_objects_as_json(tmp_path: Path) -> None:
    """Null is a record without a value; an empty line is not a record."""
    file = written(
        tmp_path,
        '{"topic": "in", "key": "a", "value": "plain", "time": "1970-01-01T00:00:01Z"}\n\n'
        '{"topic": "in", "value": {"n": 1}, "time": "1970-01-01T00:00:02Z"}\n'
        '{"topic": "in", "key": "b", "value": null, "time": "1970-01-01T00:00:03Z"}\n',
    )
    found = [record[:4] for record in read_samples(file, topology("in"))]
    assert found == [
        ("in", b"a", b"plain", 1_000),
        ("in", None, b'{"n": 1}', 2_000),
        ("in", b"b", None, 3_000),
    ]


def test_number_is_written_with_the_serde_of_its_source(tmp_path: Path) -> None:
    """A long has eight bytes."""
    file = written(tmp_path, '{"topic": "in", "key": "a", "value": 258, "ago": 0}')
    (record,) = read_samples(file, topology("in", value=int))
    assert record.value == (258).to_bytes(8, "big")


def test_time_before_now_is_counted_from_now(tmp_path: Path) -> None:
    """A negative distance is in the future."""
    file = written(
        tmp_path,
        '{"topic": "in", "value": "a", "ago": 1.5}\n{"topic": "in", "value": "b", "ago": -2}',
    )
    times = [each.timestamp for each in read_samples(file, topology("in"), now_ms=10_000)]
    assert times == [8_500, 12_000]


def test_lines_of_text_go_to_the_only_topic(tmp_path: Path) -> None:
    """With two topics nobody can tell which."""
    file = written(tmp_path, "one\n\ntwo\n", "data.txt")
    assert [each.value for each in read_samples(file, topology("in"))] == [b"one", b"two"]
    with pytest.raises(InvalidArgumentError, match="the program reads in, other"):
        read_samples(file, topology("in", "other"))


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"value": "no topic", "ago": 0}', '{"topic": "in", "value": "x", "time": "noon"}'],
)
def test_line_that_is_not_a_record_is_named(tmp_path: Path, line: str) -> None:
    """The error has the number of the line."""
    good = '{"topic": "in", "value": "x", "ago": 0}'
    with pytest.raises(InvalidArgumentError, match="line 2 of") as caught:
        read_samples(written(tmp_path, f"{good}\n{line}\n"), topology("in"))
    assert caught.value.code == "bad-sample"


def test_file_beside_the_program_is_found(tmp_path: Path) -> None:
    """Records win over lines; without a file there is none."""
    program = tmp_path / "app.py"
    assert sample_file(program) is None
    lines = written(tmp_path, "x", "data.txt")
    assert sample_file(program) == lines
    records = written(tmp_path, "{}")
    assert sample_file(program) == records
