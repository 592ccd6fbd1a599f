"""The package is typed for its users, and mypy reads this folder to prove it."""

from importlib.resources import files
from typing import assert_type

import penstock


def test_package_tells_type_checkers_that_it_is_typed() -> None:
    """Without the marker file a type checker treats every name as Any."""
    assert_type(penstock.__version__, str)
    assert files("penstock").joinpath("py.typed").is_file()
