"""Modules beside the user's program are pickled by value; compiled modules do not disturb that."""

import sys
from types import ModuleType

import cloudpickle
import pytest

from penstock.runtime.spark.driver.pickling import packed


def test_a_module_beside_the_program_travels_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("beside_the_program")
    module.__file__ = "/somewhere/beside_the_program.py"
    exec("def double(x): return 2 * x", module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    data = packed(module.double)
    monkeypatch.delitem(sys.modules, module.__name__)
    assert cloudpickle.loads(data)(4) == 8


def test_a_compiled_module_that_leaves_its_package_out_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some extensions are ``package.speedups`` and say that they are ``speedups``."""
    module = ModuleType("speedups_of_a_package")
    module.__file__ = "/somewhere/package/speedups.so"
    monkeypatch.setitem(sys.modules, "package_with_speedups.speedups", module)
    assert cloudpickle.loads(packed({"a": 1})) == {"a": 1}
