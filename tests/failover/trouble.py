"""What else can happen to instances: ``python -m tests.failover.trouble pause restart same-name``.

Each case starts instances of its own under a steady load. At the end every record must have been
counted exactly once, and one instance must lead.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from penstock.kafka.broker_folder import free_port
from tests.failover.app import STORE
from tests.failover.elsewhere import Bridge
from tests.failover.harness import Instances
from tests.waiting import happens

#: How long a machine is paused: several times the session of a member of the group.
PAUSE_S = 60.0


def pause(folder: Path) -> str:
    """The leader's machine stands still for a minute, and goes on as if nothing had happened."""
    with Running(folder, 2) as instances:
        return _paused(instances, PAUSE_S, whole_machine=True)


def pause_driver(folder: Path) -> str:
    """Only the leader's program stands still; its Spark and its stream threads do not."""
    with Running(folder, 2) as instances:
        return _paused(instances, PAUSE_S, whole_machine=False)


def _paused(instances: Running, seconds: float, *, whole_machine: bool) -> str:
    ports = instances.ports
    leader = _leader(instances)
    [other] = [number for number in instances.processes if number != leader]
    pids = instances.machine(leader) if whole_machine else [instances.processes[leader].pid]
    began = time.monotonic()
    _signal(pids, signal.SIGSTOP)
    # It waits in the system's buffers, and is answered when the process wakes up.
    waiting = _asked(ports[leader], "k1")
    try:
        time.sleep(1.0)
        gap = instances.wait_for_output(began + 1.0) + 1.0
        assert happens(lambda: instances.leader() == other, 30), instances.log_of(other)[-3000:]
        time.sleep(max(seconds - (time.monotonic() - began), 0.0))
    finally:
        _signal(pids, signal.SIGCONT)
    resumed, counted = time.monotonic(), instances.output.counts["k1"]
    status, value = _answered(waiting)
    assert status == http.client.SERVICE_UNAVAILABLE or value >= counted, (
        f"the paused leader answered {value}, when {counted} had been committed"
    )
    assert happens(lambda: "no longer leads" in instances.log_of(leader), 180), instances.log_of(
        leader
    )[-3000:]
    instances.wait_for_output(resumed + 5.0)
    assert instances.leader() == other, "the lead went back without need"
    # The one that was paused is good for another takeover.
    back = _takeover(instances)
    _finish(instances)
    return f"next commit {gap:.1f} s after the pause began, {back:.1f} s after a kill later"


def two_machines(folder: Path) -> str:
    """An instance on another machine, where 127.0.0.1 is another one, leaves the leader alone."""
    with Instances(folder, **{"num.standby.replicas": 1}) as instances:
        port = int(instances.bootstrap.rpartition(":")[2])
        bridge = Bridge(folder / "bridge", port)
        there = ["unshare", "--net", sys.executable, "-m", "tests.failover.elsewhere"]
        instances.start(0)
        instances.wait_for_output(0.0)
        instances.start(1, *there, str(port), str(folder / "bridge"))
        assert happens(lambda: instances.is_standing_by(1), 600), instances.log_of(1)[-3000:]
        time.sleep(40.0)
        logs = instances.log_of(0) + instances.log_of(1)
        generations = logs.count("leading failover as generation")
        assert generations == 1, f"{generations} takeovers without need"
        gap = _takeover(instances)
        assert _leader(instances) == 1
        _finish(instances)
        bridge.close()
        return f"one leader for 40 s; next commit {gap:.1f} s after it was killed"


def restart(folder: Path) -> str:
    """All instances are killed at the same time, and started again."""
    with Running(folder, 3) as instances:
        numbers = list(instances.processes)
        for number in numbers:
            _signal([instances.processes[number].pid], signal.SIGKILL)
        for number in numbers:
            instances.kill(number)
        began = time.monotonic()
        for number in numbers:
            instances.start(number)
        gap = instances.wait_for_output(began + 0.5) + 0.5
        instances.wait_until_ready()
        _finish(instances)
        return f"first commit {gap:.1f} s after the start"


def killed_taking_over(folder: Path) -> str:
    """The successor is killed while it takes over."""
    with Running(folder, 3) as instances:
        leader = _leader(instances)
        instances.kill(leader)
        began = time.monotonic()
        successor = _successor(instances)
        instances.kill(successor)
        gap = instances.wait_for_output(time.monotonic() + 0.5) + time.monotonic() - began
        assert _leader(instances) not in (leader, successor)
        _finish(instances)
        return f"next commit about {gap:.1f} s after the first kill"


def closed_taking_over(folder: Path) -> str:
    """The successor is closed while it takes over: it ends soon, and another one leads."""
    with Running(folder, 3) as instances:
        instances.kill(_leader(instances))
        successor = _successor(instances)
        process, began = instances.processes[successor], time.monotonic()
        instances.kill(successor, signal.SIGTERM)
        gap = instances.wait_for_output(began + 0.5) + 0.5
        assert happens(lambda: process.poll() is not None, 180), instances.log_of(successor)[-3000:]
        ended = time.monotonic() - began
        _finish(instances)
        assert process.returncode == 0, instances.log_of(successor)[-3000:]
        return f"ended within {ended:.1f} s; next commit after {gap:.1f} s"


def same_name(folder: Path) -> str:
    """Two instances have one group.instance.id: the older one ends and says why."""
    with Instances(folder, **{"num.standby.replicas": 1}) as instances:
        instances.start(0, **{"group.instance.id": "one"})
        instances.wait_for_output(0.0)
        first = instances.processes[0]
        instances.start(1, **{"group.instance.id": "one"})
        assert happens(lambda: first.poll() is not None, 600), instances.log_of(0)[-3000:]
        assert first.returncode != 0
        assert "instance-id-in-use" in instances.log_of(0), instances.log_of(0)[-3000:]
        instances.kill(0)
        instances.wait_for_output(time.monotonic() + 1.0)
        assert _leader(instances) == 1
        _finish(instances)
        return "the older one ended with instance-id-in-use"


def other_topology(folder: Path) -> str:
    """A program with another meaning of the same store joins: it is refused, the others go on."""
    with Running(folder, 2) as instances:
        leader = _leader(instances)
        instances.start(2, **{"app.version": "other"})
        process = instances.processes[2]
        assert happens(lambda: process.poll() is not None, 600), instances.log_of(2)[-3000:]
        assert process.returncode != 0
        instances.kill(2)
        instances.wait_for_output(time.monotonic() + 1.0)
        assert _leader(instances) == leader
        _finish(instances)
        said = [line for line in instances.log_of(2).splitlines() if "[" in line]
        return said[-1][:160] if said else "refused"


def full_disk(folder: Path) -> str:
    """The leader's disk is full for a while: it waits for room, and goes on."""
    small = folder / "small"
    small.mkdir()
    _mount(small, "8m")
    try:
        with Instances(folder, rate=500, **{"num.standby.replicas": 0}) as instances:
            instances.start(0, **{"state.dir": str(small)})
            instances.wait_for_output(0.0)
            ballast = _fill(small)
            assert happens(lambda: "disk" in instances.log_of(0), 300), instances.log_of(0)[-3000:]
            ballast.unlink()
            began = time.monotonic()
            gap = instances.wait_for_output(began)
            assert _leader(instances) == 0
            _finish(instances)
            return f"next commit {gap:.1f} s after there was room again"
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


CASES: dict[str, Callable[[Path], str]] = {
    "pause": pause,
    "pause-driver": pause_driver,
    "two-machines": two_machines,
    "restart": restart,
    "killed-taking-over": killed_taking_over,
    "closed-taking-over": closed_taking_over,
    "same-name": same_name,
    "other-topology": other_topology,
    "full-disk": full_disk,
}


class Running(Instances):
    """Instances of which one leads, and the others stand by."""

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__(folder, **{"num.standby.replicas": 1})
        self.ports = [free_port() for _ in range(count)]

    def __enter__(self) -> Running:
        super().__enter__()
        try:
            for number, port in enumerate(self.ports):
                self.start(number, **{"application.server": f"127.0.0.1:{port}"})
            self.wait_for_output(0.0)
            self.wait_until_ready()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self


def _asked(port: int, key: str) -> http.client.HTTPConnection:
    """Ask for a key, and do not wait for the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", f"/stores/{STORE}/{key}")
    return connection


def _answered(asked: http.client.HTTPConnection) -> tuple[int, int]:
    response = asked.getresponse()
    body = json.loads(response.read() or b"{}")
    asked.close()
    return response.status, body.get("value", 0)


def _leader(instances: Instances) -> int:
    assert happens(lambda: instances.leader() is not None, 60), "nobody leads"
    found = instances.leader()
    assert found is not None
    return found


def _successor(instances: Instances) -> int:
    """Return the instance that takes over, as soon as it says so."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for number in instances.processes:
            if "that led failover is gone" in instances.log_of(number):
                return number
        time.sleep(0.01)
    raise AssertionError("nobody takes over")


def _takeover(instances: Instances) -> float:
    leader, began = _leader(instances), time.monotonic()
    instances.kill(leader)
    return instances.wait_for_output(began + 0.3) + 0.3


def _finish(instances: Instances) -> None:
    """End the input: every record must have been counted, and every one once."""
    instances.stop_input()
    instances.wait_for_all()
    assert instances.output.faults == [], instances.output.faults[:10]


def _signal(pids: list[int], how: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, how)


def _mount(folder: Path, size: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    assert subprocess.run(command, check=False).returncode == 0, "a disk of its own needs root"


def _fill(folder: Path) -> Path:
    """Fill a disk; return the file to delete."""
    ballast = folder / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    return ballast


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.failover.trouble", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help=", ".join(CASES))
    parser.add_argument("--folder", type=Path, help="keep the logs of the instances here")
    given = parser.parse_args(arguments)
    for name in given.cases or CASES:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made) if given.folder is None else given.folder / name
            folder.mkdir(parents=True, exist_ok=True)
            print(f"{name}: {CASES[name](folder)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
