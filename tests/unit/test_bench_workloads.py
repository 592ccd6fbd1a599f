"""The workloads of the bench give results, also those that no peer checks."""

import pytest

import penstock as ps
from bench.data import inputs
from bench.workloads import WORKLOADS, Topics, build

TOPICS = Topics("in", "out", "table")


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_writes_something(workload: str) -> None:
    """A program that fails at its first record would only be found by hand."""
    topology = build(workload, TOPICS, "lambda")
    records = inputs(workload, 200, 1_000_000, 10)
    with ps.TopologyTestDriver(topology, {"application.id": "bench"}) as driver:
        for kind, topic in (("table", TOPICS.table), ("input", TOPICS.input)):
            if kind in records:
                entrance = driver.create_input_topic(topic, "bytes", "bytes")
                for key, value, at in records[kind]:
                    entrance.pipe_input(key, value, at)
        exit_ = driver.create_output_topic(TOPICS.output, "bytes", "bytes")
        assert exit_.read_key_values_to_list()
