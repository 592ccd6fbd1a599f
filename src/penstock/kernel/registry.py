"""Imports every record executor once, so that each registers the node type that it runs."""

from __future__ import annotations

import importlib
import pkgutil

import penstock.kernel.operators
from penstock.kernel.executor import executor_for

for _module in pkgutil.walk_packages(
    penstock.kernel.operators.__path__, f"{penstock.kernel.operators.__name__}."
):
    # Column executors register themselves in ``kernel.columns``. They import numpy, which takes
    # a while, so a task that runs record at a time does without them.
    if not _module.name.endswith("_columns"):
        importlib.import_module(_module.name)

__all__ = ["executor_for"]
