"""A short run of the fuzzer; ``make fuzz`` goes on for longer."""

import random
from itertools import islice

import pytest

from tests.fuzz.mutations import mutated, seeds
from tests.fuzz.target import Target


@pytest.mark.parametrize("seed", [1, 2])
def test_changed_statements_raise_nothing_but_our_errors(seed: int) -> None:
    """Nobody sees a traceback for a typing error, however odd."""
    target = Target()
    for text in islice(mutated(seeds(), random.Random(seed)), 150):
        target(text)


@pytest.mark.parametrize(
    "text", ["(" * 3_000, "SELECT " + "NOT " * 3_000, "SELECT a" + "+1" * 2_000]
)
def test_deep_nesting_raises_nothing_but_our_errors(text: str) -> None:
    """Programs write such statements."""
    Target()(f"{text} FROM s EMIT CHANGES".encode())
