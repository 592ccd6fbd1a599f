"""Says in words whether an application is well: a headline, a reason, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from penstock.serving.status.history import Observation
from penstock.serving.status.values import ApplicationStatus, Failure

#: Records may wait for one commit; a backlog that takes longer than this is one.
_CAUGHT_UP_S = 10.0
#: Records wait and none is processed for this long: something is stuck.
STUCK_MS = 30_000
#: For how long a failure that passed is mentioned.
_RECENT_MS = 60_000
_STARTING = frozenset({"CREATED", "REBALANCING"})
_ENDED = frozenset({"PENDING_SHUTDOWN", "NOT_RUNNING"})


class Level(StrEnum):
    """How bad it is. Anything but the first two wants somebody's attention."""

    WELL = "well"
    #: It does what it should, and is not done yet: it starts, restores or catches up.
    BUSY = "busy"
    #: It goes on by itself, but not as fast as records arrive, or only after something else.
    WARNING = "warning"
    #: It does not go on by itself.
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence that a stranger understands, and what follows from it."""

    level: Level
    headline: str
    detail: str = ""
    fix: str = ""


def verdict(seen: Observation) -> Verdict:
    """Return what a sample means; the worst thing that is true comes first."""
    status = seen.status
    if status.error is not None or status.state in ("ERROR", "PENDING_ERROR"):
        return _failed(status.error)
    if status.state in _ENDED:
        return _ended(status)
    if status.waiting is not None:
        return _waits(seen)
    if status.restoring:
        return _restores(status)
    if status.state in _STARTING:
        return Verdict(Level.BUSY, "Starting", "It is getting its partitions and its state.")
    if status.is_paused:
        return Verdict(
            Level.WARNING, "Paused", "It was asked to pause and processes nothing.",
            "Call resume() to go on.",
        )  # fmt: skip
    if not status.is_leader:
        return Verdict(
            Level.WELL, "Standing by", "Another instance processes; this one answers from copies."
        )
    return _runs(seen)


def _failed(error: Failure | None) -> Verdict:
    if error is None:
        return Verdict(Level.BAD, "Ended with an error", "The log says which one.")
    where = f" at {error.site}" if error.site else ""
    return Verdict(
        Level.BAD, "Ended with an error", f"[{error.code}] {error.message}{where}", error.fix or ""
    )


def _ended(status: ApplicationStatus) -> Verdict:
    if status.state == "PENDING_SHUTDOWN":
        return Verdict(Level.BUSY, "Stopping", "It commits what it has begun, then it ends.")
    return Verdict(Level.WARNING, "Stopped", "It was closed cleanly and processes nothing.")


def _waits(seen: Observation) -> Verdict:
    waiting = seen.status.waiting
    assert waiting is not None
    since = seen.waiting_since_ms
    for_s = 0 if since is None else (seen.status.at_ms - since) / 1000
    headline = f"Waiting for {duration(for_s)}" if for_s >= 1 else "Waiting"
    return Verdict(Level.WARNING, headline, sentence(waiting.what), sentence(waiting.fix or ""))


def _restores(status: ApplicationStatus) -> Verdict:
    done = sum(each.position - each.start for each in status.restoring)
    whole = sum(each.end - each.start for each in status.restoring)
    share = f"{done / whole:.0%}" if whole else "0%"
    stores = sorted({each.store for each in status.restoring})
    return Verdict(
        Level.BUSY,
        f"Restoring its state: {share}",
        f"{', '.join(stores)} come back from their changelogs; processing goes on after that.",
    )


def _runs(seen: Observation) -> Verdict:
    status, lag = seen.status, seen.lag
    idle_ms = 0 if seen.idle_since_ms is None else status.at_ms - seen.idle_since_ms
    if idle_ms >= STUCK_MS:
        return Verdict(
            Level.BAD, f"Stuck for {duration(idle_ms / 1000)}",
            f"{count(lag or 0)} records wait and none is processed.",
            "Look at Tasks and threads: which task is busy, and since when.",
        )  # fmt: skip
    trouble = _trouble(status)
    if lag is None:
        return trouble or Verdict(Level.WELL, "Running", "How many records wait is not known yet.")
    speed = f"{count(round(seen.speed))} records/s"
    if not is_backlog(seen):
        said = f"It is caught up and processes {speed}."
        if not seen.speed:
            said = "It is caught up: no record waits."
        return trouble or Verdict(Level.WELL, "All is well", said)
    waits = f"{count(lag)} records wait"
    if seen.clear_s is None:
        return Verdict(
            Level.WARNING, "Falling behind",
            f"{waits}: {count(round(seen.arriving))}/s arrive, and it processes {speed}.",
            "Add stream threads or partitions, or find the slow node under Topology.",
        )  # fmt: skip
    return Verdict(
        Level.BUSY, "Catching up",
        f"{waits}. At {speed} none does in {duration(seen.clear_s)}.",
    )  # fmt: skip


def is_backlog(seen: Observation) -> bool:
    """Tell whether more records wait than the present speed clears in a moment."""
    lag, speed = seen.lag or 0, seen.speed
    return lag > max(speed * _CAUGHT_UP_S, 1_000)


def _trouble(status: ApplicationStatus) -> Verdict | None:
    """Return a failure that it got over a moment ago."""
    if not status.failures:
        return None
    last = status.failures[-1]
    if status.at_ms - last.at_ms > _RECENT_MS:
        return None
    where = f" at {last.site}" if last.site else ""
    return Verdict(
        Level.WARNING, "Running, after a failure",
        f"[{last.code}] {last.message.splitlines()[0]}{where}", last.fix or "",
    )  # fmt: skip


def duration(seconds: float) -> str:
    """Return a time in the two largest units that matter.

    >>> duration(0.4), duration(75), duration(7_500), duration(200_000)
    ('under a second', '1 min 15 s', '2 h 5 min', '2 d 7 h')
    """
    whole = round(seconds)
    if whole < 1:
        return "under a second"
    minutes, s = divmod(whole, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    parts = [(days, "d"), (h, "h"), (m, "min"), (s, "s")]
    first = next(place for place, (number, _) in enumerate(parts) if number)
    return " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number)


def count(number: float) -> str:
    """Return a number with separators, or rounded to three digits if it is large.

    >>> count(12_418), count(1_234_567)
    ('12,418', '1.23 M')
    """
    if number < 1_000_000:
        return f"{number:,.0f}"
    for size, unit in ((1e9, "G"), (1e6, "M")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    raise AssertionError(number)


def sentence(text: str) -> str:
    """Return a message of the house style as a sentence: a capital letter, and a full stop.

    >>> sentence("no answer yet from Kafka")
    'No answer yet from Kafka.'
    """
    if not text:
        return ""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?" else f"{text}."
