"""A file stays small enough to be understood without scrolling far."""

from tests.architecture.source import docstring_lines, modules, relative

MAX_LINES = 600
FACES = frozenset({"dsl/faces/kstream.py", "dsl/faces/ktable.py"})


def test_no_module_is_longer_than_600_lines() -> None:
    """Past 600 lines a file is split by family; only faces grow, and only through docstrings."""
    lengths = {}
    for file in modules():
        lines = len(file.read_text(encoding="utf-8").splitlines())
        if relative(file) in FACES:
            lines -= docstring_lines(file)
        lengths[relative(file)] = lines
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}
