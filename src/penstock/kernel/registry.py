"""Every executor module, imported once so that each registers the node type it runs."""

from __future__ import annotations

import importlib
import pkgutil

import penstock.kernel
from penstock.kernel.executor import executor_for

for _module in pkgutil.iter_modules(penstock.kernel.__path__):
    if _module.name not in ("registry", "task", "wiring"):
        importlib.import_module(f"penstock.kernel.{_module.name}")

__all__ = ["executor_for"]
