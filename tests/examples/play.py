"""Pipe an example's sample data into the test driver."""

from examples.samples import Sample
from penstock.testing import TopologyTestDriver


def play(driver: TopologyTestDriver, samples: list[Sample]) -> None:
    """Pipes tables and global tables first, as files list them, then the rest in order of time."""
    for sample in samples:
        key = None if sample.key is None else sample.key.encode()
        driver.pipe_bytes(sample.topic, key, sample.value_bytes, sample.time_ms)
