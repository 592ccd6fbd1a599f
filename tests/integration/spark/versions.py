"""Skips what an older PySpark cannot do: ``@needs_spark("4.1", "run_batch")``."""

from __future__ import annotations

import pytest

from penstock.runtime.spark.spark_version import has_spark


def needs_spark(least: str, what: str) -> pytest.MarkDecorator:
    """Skip a test, or a module's, on an older PySpark than this."""
    return pytest.mark.skipif(not has_spark(least), reason=f"{what} needs PySpark {least}")
