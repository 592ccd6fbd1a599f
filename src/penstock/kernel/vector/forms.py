"""Every column form, imported once so that each registers the node type it runs."""

from __future__ import annotations

import importlib
import pkgutil

import penstock.kernel.vector
from penstock.kernel.vector.step import forms, step_for

for _module in pkgutil.iter_modules(penstock.kernel.vector.__path__):
    if _module.name not in ("forms", "planner", "column_task"):
        importlib.import_module(f"penstock.kernel.vector.{_module.name}")

__all__ = ["forms", "step_for"]
