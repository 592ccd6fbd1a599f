"""Every column executor, imported once so that each registers the node type it runs."""

from __future__ import annotations

import importlib
import pkgutil

import penstock.kernel.operators
from penstock.kernel.columns.column_executor import column_executor_for, vectorised_nodes

for _module in pkgutil.walk_packages(
    penstock.kernel.operators.__path__, f"{penstock.kernel.operators.__name__}."
):
    if _module.name.endswith("_columns"):
        importlib.import_module(_module.name)

__all__ = ["column_executor_for", "vectorised_nodes"]
