"""``pytest_file``: a captured test that runs, and captured lines that can be read back."""

from pathlib import Path

import pytest

from penstock import StreamsBuilder
from penstock.cli.replay.pytest_file import pytest_file, sample_lines
from penstock.runtime.local.outbox import InputRecord
from penstock.testing.replay import replay
from penstock.testing.sample_data import read_samples

PROGRAM = """
from penstock import StreamsBuilder

def build():
    builder = StreamsBuilder()
    builder.stream("in").map_values(str.upper).to("out")
    return builder.build()

other = build
"""
RECORDS = [
    InputRecord("in", b"a", b"one 'quoted'", 5, (("trace", b"\x00\xff"),), 1),
    InputRecord("in", None, b"two", 6, (), 0),
]


def run(file: Path, text: str) -> None:
    """Runs the test in the text, as pytest would."""
    scope: dict[str, object] = {"__file__": str(file), "__name__": "captured"}
    exec(compile(text, str(file), "exec"), scope)
    scope["test_output_is_what_was_captured"]()  # type: ignore[operator]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "app.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["", ":other"])
def test_captured_test_passes_until_the_output_changes(folder: Path, name: str) -> None:
    """The program is found from the folder of the test, wherever pytest is started."""
    file, app = folder / "tests" / "test_captured.py", f"{folder / 'app.py'}{name}"
    builder = StreamsBuilder()
    builder.stream("in").map_values(str.upper).to("out")
    made = replay(builder.build(), RECORDS, partitions={"in": 2})
    text = pytest_file(file, app, "penstock capture in", RECORDS, made, {"in": 2})
    assert "/".join(("..", "app.py")) in text
    run(file, text)
    (folder / "app.py").write_text(PROGRAM.replace("upper", "title"), encoding="utf-8")
    with pytest.raises(AssertionError):
        run(file, text)


def test_captured_lines_are_read_back_as_they_were(tmp_path: Path) -> None:
    """Bytes that are not text are written as hexadecimal digits."""
    records = [
        InputRecord("in", b"\xff\x00", "grün".encode(), 5, (), 1),
        InputRecord("in", None, None, 6, (), 0),
    ]
    file = tmp_path / "data.jsonl"
    file.write_text(sample_lines(records), encoding="utf-8")
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    assert read_samples(file, builder.build()) == records
