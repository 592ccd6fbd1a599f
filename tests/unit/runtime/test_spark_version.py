"""What only a newer PySpark can do is refused at once, with the version that can."""

from __future__ import annotations

from typing import Any

import pyspark
import pytest

import penstock as ps
from penstock.errors import StreamsError
from penstock.runtime.spark.spark_version import require_spark


@pytest.mark.parametrize("here", ["4.1.0", "4.1.0.dev2", "4.10.3", "5.0.0"])
def test_a_newer_spark_does(monkeypatch: pytest.MonkeyPatch, here: str) -> None:
    """Versions are numbers: 4.10 is newer than 4.9."""
    monkeypatch.setattr(pyspark, "__version__", here)
    require_spark("it", "4.1")


@pytest.mark.parametrize(
    ("call", "least"),
    [
        (lambda spark: ps.register_data_source(spark), "4.0"),
        (lambda spark: ps.run_batch(ps.StreamsBuilder().build(), {}, spark), "4.1"),
    ],
    ids=["data source", "run_batch"],
)
def test_an_older_spark_is_told_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, call: Any, least: str
) -> None:
    """Otherwise a missing module or method of PySpark's would be the error."""
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    with pytest.raises(StreamsError) as raised:
        call(None)
    assert raised.value.code == "old-spark"
    assert f"needs PySpark {least} or newer, and this is 3.5.9" in raised.value.message
