"""A file is small enough to be understood without scrolling far; a folder, at one look."""

from collections import Counter

from tests.architecture.source import docstring_lines, modules, relative

MAX_LINES = 600
MAX_FILES = 25
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


def test_no_folder_has_more_than_25_modules() -> None:
    """Past 25 files a folder is a list, not a room: what belongs together moves into its own."""
    sizes = Counter(relative(file.parent) for file in modules())
    assert {folder: size for folder, size in sizes.items() if size > MAX_FILES} == {}
