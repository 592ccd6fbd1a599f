"""Every public class and function has a docstring."""

import importlib
import importlib.util
import inspect

import pytest

PUBLIC_MODULES = (
    "penstock",
    "penstock.sql",
    "penstock.client",
    "penstock.errors",
    "penstock.testing",
)


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_class_and_function_has_a_docstring(name: str) -> None:
    """What `__all__` lists is promised, and a promise is written down."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not part of this release")
    module = importlib.import_module(name)
    public = {item: getattr(module, item) for item in getattr(module, "__all__", ())}
    undocumented = [
        item
        for item, value in public.items()
        if (inspect.isclass(value) or inspect.isroutine(value)) and not _own_docstring(value)
    ]
    assert undocumented == []


def _own_docstring(value: object) -> bool:
    # A dataclass without a docstring gets its signature for one.
    text = value.__doc__ or ""
    name = getattr(value, "__name__", "")
    return bool(text.strip()) and not text.startswith(f"{name}(")
