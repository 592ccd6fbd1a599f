"""Fixtures of the tests against Java: its program, and the fixtures of the Spark tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.kafka.java import find_java
from tests.integration.interop.java_side import JavaSide
from tests.integration.spark.conftest import (  # noqa: F401 - fixtures
    application_id,
    produce,
    spark,
    streams_of,
)


@pytest.fixture(scope="session")
def java_side(kafka_broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaSide]:
    """Java's program against this run's broker; skips where Java cannot compile it."""
    java = find_java()
    has_compiler = (
        "jdk.compiler" in java.modules
        if java.modules is not None
        else (java.home / "bin" / "javac").is_file()
    )
    if not has_compiler:
        pytest.skip(f"Java {java.version} in {java.home} has no compiler: a whole JDK is needed")
    side = JavaSide(java, kafka_broker, tmp_path_factory.mktemp("java"))
    yield side
    side.close()
