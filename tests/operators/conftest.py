"""The ``driver`` fixture: one body, every engine."""

from collections.abc import Iterator

import pytest

from tests.operators.driver import ENGINES, Driver


@pytest.fixture(params=sorted(ENGINES))
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    engine = ENGINES[request.param]()
    yield engine
    engine.close()
