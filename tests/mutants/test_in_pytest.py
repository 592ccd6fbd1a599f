"""Replacing the code of functions that are imported already."""

from __future__ import annotations

import importlib.util
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.mutants.in_pytest import CannotPlantError, replace_code

SOURCE = """
def plain(a):
    return a + 1

class Owner:
    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        self.kept = value + 1

    @staticmethod
    def of(a):
        return [b + 1 for b in a]

class Heir(Owner):
    def __init__(self):
        super().__init__()
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    path = tmp_path / "victim.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("victim", path)
    assert spec is not None
    assert spec.loader is not None
    victim = importlib.util.module_from_spec(spec)
    sys.modules["victim"] = victim
    spec.loader.exec_module(victim)
    yield victim
    del sys.modules["victim"]


def test_code_is_replaced_wherever_the_function_is_known(module: ModuleType) -> None:
    known = module.plain
    replace_code(SOURCE.replace("a + 1", "a - 1"), module.__file__ or "", "plain")
    assert known(5) == 4
    assert module.Owner.of([1]) == [2]


def test_weak_references_to_what_is_gone_are_passed_over(module: ModuleType) -> None:
    """Another test of the same process may have left some."""
    gone = weakref.proxy(type("Gone", (), {})())
    replace_code(SOURCE.replace("a + 1", "a - 1"), module.__file__ or "", "plain")
    assert module.plain(5) == 4
    with pytest.raises(ReferenceError):
        str(gone)


def test_methods_of_every_kind_are_found(module: ModuleType) -> None:
    """Of two with the same name each keeps its own code."""
    file = module.__file__ or ""
    replace_code(SOURCE.replace("value + 1", "value - 1"), file, "Owner.size")
    owner = module.Owner()
    owner.size = 7
    assert (owner.size, owner.kept) == (1, 6)
    replace_code(SOURCE.replace("b + 1", "b - 1"), file, "Owner.of")
    assert module.Owner.of([1]) == [0]


def test_a_fault_that_cannot_be_planted_is_told(module: ModuleType) -> None:
    """Else it would count as a survivor."""
    file = module.__file__ or ""
    with pytest.raises(CannotPlantError):
        replace_code(SOURCE, file, "missing")
    with pytest.raises(CannotPlantError):
        replace_code(SOURCE.replace("super().__init__()", "pass"), file, "Heir.__init__")
