"""Every example in a docstring is run."""

import doctest
import importlib
from pathlib import Path

import pytest

from tests.architecture.source import modules, relative

WITH_EXAMPLES = [file for file in modules() if ">>> " in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("file", WITH_EXAMPLES, ids=relative)
def test_docstring_examples_hold(file: Path) -> None:
    """An example that no longer holds is worse than none."""
    name = f"penstock.{relative(file).removesuffix('.py').replace('/', '.')}"
    module = importlib.import_module(name.removesuffix(".__init__"))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=flags).failed == 0
