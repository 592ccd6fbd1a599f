"""Two instances answer every key over HTTP, also while the one that leads is killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from tests.integration.spark.instances import Instance, wait_for
from tests.integration.spark.test_serving import Server, free_port

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

KEYS = [f"word-{number:02d}" for number in range(40)]


def status(server: Server, path: str) -> int:
    try:
        return server.get(path)[0]
    except (TimeoutError, OSError):
        return 0


def test_answers_are_right_before_during_and_after_the_end_of_the_leader(
    start: Callable[..., Instance], produce: Callable[..., None], topics: tuple[str, str]
) -> None:
    produce(topics[0], *((f"k{n}", KEYS[n % 40]) for n in range(400)))
    servers = [Server(free_port()), Server(free_port())]
    instances = []
    for server in servers:
        more = {"application.server": f"127.0.0.1:{server.port}", "num.standby.replicas": 1}
        instances.append(start(**more))
        if len(instances) == 1:
            instances[0].wait_until_running()
    for server in servers:
        wait_for(lambda at=server: status(at, "/health/ready") == 200, 90, "ready")
    second = servers[1]
    wait_for(lambda: status(second, f"/stores/counts/{KEYS[0]}?stale=true") == 200, 60, "a copy")

    for server in servers:
        for key in KEYS:
            code, body, headers = server.get(f"/stores/counts/{key}")
            assert (code, body["value"], headers["penstock-source"]) == (200, 10, "owner")
    code, body, headers = second.get(f"/stores/counts/{KEYS[0]}?stale=true")
    assert (code, body["value"], headers["penstock-source"]) == (200, 10, "standby")
    assert {i["is_leader"] for i in second.get("/metadata")[1]["instances"]} == {True, False}

    _check_failover(second, instances[0])
    assert {headers_of(second, key)["penstock-source"] for key in KEYS} == {"owner"}


def headers_of(server: Server, key: str) -> Any:
    code, body, headers = server.get(f"/stores/counts/{key}")
    assert (code, body["value"]) == (200, 10)
    return headers


def _check_failover(server: Server, leader: Instance) -> None:
    """Ask all the time: every answer is right, or says that there is none now."""
    leader.end(signal.SIGKILL)
    killed = time.monotonic()
    answered, number = 0.0, 0
    while time.monotonic() - killed < 60:
        key = KEYS[number % 40]
        number += 1
        code, body, headers = server.get(f"/stores/counts/{key}")
        if code == 200:
            assert body["value"] == 10
            answered = answered or time.monotonic() - killed
            if number % 40 == 0:
                break
        else:
            assert (code, headers["retry-after"]) == (503, "1"), body
            code, body, headers = server.get(f"/stores/counts/{key}?stale=true")
            if code == 200:
                assert body["value"] == 10
            else:
                assert code == 503, body
            time.sleep(0.05)
    print(f"the owner answered {answered:.1f} s after the leader was killed")
    assert 0 < answered < 60
