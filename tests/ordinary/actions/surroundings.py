"""What happens to the application's process, its machine and the programs beside it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable

from tests.cluster.feeder import Feeder
from tests.ordinary.actions.day import Act, Day

_PARTITIONERS = ("consistent_random", "fnv1a_random", "murmur2_random")
#: What a nearly full disk still has.
_LEFT_BYTES = 64 * 1024


def clock(day: Day) -> Act | None:
    """Move the application's clock for ten seconds."""
    if not day.clock.is_there:
        return None
    seconds, began_s = day.chance.choice((-7200, -60, 60, 7200)), time.monotonic()
    day.clock.shift(seconds)
    # The wall clock of this process is right, and all processes have one monotonic clock.
    true = time.time() - time.monotonic()

    def evidence() -> str | None:
        off = [said["wall"] - said["at"] - true for said in day.sayings.since(began_s)]
        found = [each for each in off if abs(each - seconds) < 5]
        return f"the application's clock is off by {found[0]:.1f} s" if found else None

    return Act(f"the clock is {seconds:+} s off", evidence, 10.0, lambda: day.clock.shift(0))


def disk(day: Day) -> Act | None:
    """Fill the disk that has the state."""
    if day.disk is None:
        return None
    filler, probe = day.disk / "filler", day.disk / "probe"
    found = os.statvfs(day.disk)
    filler.write_bytes(b"\0" * max(0, found.f_bavail * found.f_frsize - _LEFT_BYTES))

    def evidence() -> str | None:
        try:
            probe.write_bytes(b"\0" * 4 * _LEFT_BYTES)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                return "there is no room for 256 kB"
        finally:
            probe.unlink(missing_ok=True)
        return None

    seconds = day.chance.uniform(10.0, 40.0)
    what = f"the disk has {_LEFT_BYTES // 1024} kB left for {seconds:.0f} s"
    return Act(what, evidence, seconds, lambda: filler.unlink(missing_ok=True))


def producer(day: Day) -> Act:
    """Let another program write for a while, with a partitioner of its own."""
    number, partitioner = len(day.others), day.chance.choice(_PARTITIONERS)
    feeder = Feeder(
        day.servers, 50, day.chance.randrange(10**6), day.partitions,
        partitioner=partitioner, name=f"p{number}-",
    )  # fmt: skip
    day.others.append(feeder)
    feeder.start()

    def evidence() -> str | None:
        count = feeder.total_acknowledged
        return f"Kafka has {count} of its records" if count else None

    what = f"another producer, which places keys by {partitioner}, for 30 s"
    return Act(what, evidence, 30.0, feeder.stop)


def burst(day: Day) -> Act:
    """Write a backlog at once."""
    before, count = day.feeder.total_acknowledged, day.chance.choice((2_000, 5_000, 10_000))
    day.feeder.burst(count)

    def evidence() -> str | None:
        written = day.feeder.total_acknowledged - before
        return f"Kafka has {written} more" if written >= count else None

    return Act(f"{count} records at once", evidence, 15.0)


def restart(day: Day) -> Act | None:
    """Stop the application as a service manager does; it is started again at once."""
    if not day.sayings.has_run_since(time.monotonic() - 5.0):
        return None
    return Act("a clean restart", _restarted(day), 90.0, ends_when_seen=True)


def idle(day: Day) -> Act | None:
    """Write nothing until the group's offsets expire, and restart the application then."""
    day.feeder.pause()
    day.notes.pause()
    expired = 0
    restarted: Callable[[], str | None] | None = None

    def evidence() -> str | None:
        nonlocal expired, restarted
        if restarted is not None:
            found = restarted()
            return found and f"{expired} of {len(day.inputs)} offsets expired; {found}"
        expired = len(day.inputs) - len(day.committed(day.inputs))
        # Each partition's offset expires by itself, so the last ones follow a moment later.
        if expired == len(day.inputs):
            restarted = _restarted(day)
        return None

    def undo() -> None:
        day.feeder.resume()
        day.notes.resume()

    return Act("no input until offsets expire", evidence, 240.0, undo, ends_when_seen=True)


def _restarted(day: Day) -> Callable[[], str | None]:
    """Close the application, and return what tells that it runs again."""
    old = day.application.pid
    day.application.expect_end()
    began_s = time.monotonic()
    problem = day.application.close()
    if problem is not None:
        day.problems.append(f"at a clean restart: {problem}")
    took_s, closed_s = time.monotonic() - began_s, time.monotonic()

    def evidence() -> str | None:
        if day.application.pid in (None, old) or not day.sayings.has_run_since(closed_s):
            return None
        again_s = time.monotonic() - closed_s
        return f"closed in {took_s:.1f} s, runs again after {again_s:.1f} s"

    return evidence
