"""Which instance has which stores, and how far copies are behind."""

import pytest

import penstock as ps
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.stores.clients_metadata import (
    HostInfo,
    LagInfo,
    StreamsMetadata,
    clients,
    lags_by_store,
)
from penstock.runtime.spark.exchange.batch_log import InstanceRecord
from penstock.runtime.spark.exchange.plan import Plan, make_plan
from penstock.runtime.spark.replica.replica import CopyLag


def plan() -> Plan:
    builder = ps.StreamsBuilder()
    builder.stream("in").group_by_key().count("counts")
    builder.global_table("names", materialized="names")
    return make_plan(builder.build().graph, {"in": 2, "names": 1})


def record(name: str, server: str = "", *, has_copies: bool = False) -> InstanceRecord:
    return InstanceRecord(
        id=name, pid=1, host="h", port=1, server=server, started_ms=0, has_copies=has_copies
    )


@pytest.mark.parametrize(
    ("server", "info"),
    [
        ("localhost:80", HostInfo("localhost", 80)),
        ("::1:80", HostInfo("::1", 80)),
        ("", HostInfo("", 0)),
        ("localhost", HostInfo("", 0)),
        ("localhost:", HostInfo("", 0)),
    ],
)
def test_a_server_is_a_host_and_a_port_or_neither(server: str, info: HostInfo) -> None:
    """An instance without ``application.server`` has an empty host, as in Kafka Streams."""
    assert HostInfo.of(server) == info


def test_the_leader_comes_first_and_has_every_store() -> None:
    """Others have all stores as copies, if they keep copies, and none if they do not."""
    known = {
        "a": record("a", "a:1", has_copies=True),
        "b": record("b"),
        "c": record("c", "c:3", has_copies=True),
    }
    stores = frozenset({"counts", "names"})
    assert clients(known, "c", plan()) == [
        StreamsMetadata("c", HostInfo("c", 3), is_leader=True, state_store_names=stores),
        StreamsMetadata("a", HostInfo("a", 1), is_leader=False, standby_state_store_names=stores),
        StreamsMetadata("b", HostInfo("", 0), is_leader=False),
    ]


def test_lags_are_sorted_by_store_and_partition() -> None:
    """A copy that is ahead of the cut it knows is not behind."""
    copies = [
        CopyLag("counts", TaskId(0, 0), "t", position=5, end=9),
        CopyLag("counts", TaskId(0, 1), "t", position=9, end=7),
        CopyLag("sums", TaskId(1, 0), "u", position=0, end=0),
    ]
    assert lags_by_store(copies) == {
        "counts": {0: LagInfo(5, 9, 4), 1: LagInfo(9, 7, 0)},
        "sums": {0: LagInfo(0, 0, 0)},
    }
