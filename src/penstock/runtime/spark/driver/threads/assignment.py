"""Which stream thread gets which slot: a plain function of threads, loads and former places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from penstock.runtime.spark.driver.executors.spark_executors import ExecutorId
from penstock.runtime.spark.exchange.stage_request import Endpoint


def place_of(thread: Endpoint) -> ExecutorId:
    """Return the executor of a thread."""
    return ExecutorId(thread.host, thread.executor)


def assign(
    missing: Sequence[int],
    threads: Sequence[Endpoint],
    load: Mapping[str, int],
    near: Mapping[int, Sequence[ExecutorId]],
) -> dict[int, Endpoint]:
    """Return a thread for each slot that has none.

    A slot goes to the thread with the fewest slots. It goes to one near its state instead, if that
    has at most one slot more: reading state back costs more than a neighbour does.

    Args:
        missing: the slots without a thread.
        threads: the threads that may get them, the oldest first.
        load: by server: how many slots it has already, of all applications.
        near: by slot: the executors with state of it, the nearest first.
    """
    loads, found = Counter(load), dict[int, Endpoint]()
    for slot in missing:
        fewest = min(loads[each.server] for each in threads)
        chosen = _near(threads, loads, near.get(slot, ()), fewest + 1)
        if chosen is None:
            chosen = min(threads, key=lambda each: loads[each.server])
        loads[chosen.server] += 1
        found[slot] = chosen
    return found


def _near(
    threads: Sequence[Endpoint], loads: Mapping[str, int], places: Sequence[ExecutorId], most: int
) -> Endpoint | None:
    for place in places:
        there = [each for each in threads if loads[each.server] <= most and each.host == place.host]
        if there:
            # Folders belong to hosts, so any thread of the host has the state.
            return min(there, key=lambda each: (place_of(each) != place, loads[each.server]))
    return None


def to_balance(
    own: Mapping[int, Endpoint],
    threads: Sequence[Endpoint],
    load: Mapping[str, int],
    leaving: Collection[str] = (),
) -> tuple[int, Endpoint] | None:
    """Return a slot that should move, and to which thread; None if the load is even.

    Slots leave executors that Spark decommissions first. Then executors are compared, and then the
    threads of one executor. A difference of one slot is even.

    Args:
        own: the slots of the application, with their threads.
        threads: all living threads.
        load: by server: how many slots it has, of all applications.
        leaving: names of executors that are being decommissioned.
    """
    staying = [each for each in threads if each.executor not in leaving]
    if not own or not staying:
        return None
    for slot, thread in sorted(own.items()):
        if thread.executor in leaving:
            return slot, min(staying, key=lambda each: load.get(each.server, 0))
    return _between_executors(own, staying, load) or _between_threads(own, staying, load)


def _between_executors(
    own: Mapping[int, Endpoint], threads: Sequence[Endpoint], load: Mapping[str, int]
) -> tuple[int, Endpoint] | None:
    loads = Counter({place_of(each): 0 for each in threads})
    for each in threads:
        loads[place_of(each)] += load.get(each.server, 0)
    emptiest = min(loads, key=lambda place: (loads[place], place))
    fullest = max((place_of(each) for each in own.values()), key=lambda place: loads[place])
    if loads[fullest] - loads[emptiest] < 2:
        return None
    slot = max(number for number, each in own.items() if place_of(each) == fullest)
    there = [each for each in threads if place_of(each) == emptiest]
    return slot, min(there, key=lambda each: load.get(each.server, 0))


def _between_threads(
    own: Mapping[int, Endpoint], threads: Sequence[Endpoint], load: Mapping[str, int]
) -> tuple[int, Endpoint] | None:
    # Only threads of one executor are compared: executors may have different numbers of threads,
    # and slots would go to and fro between the two comparisons.
    found: list[tuple[int, int, Endpoint]] = []
    for slot, thread in own.items():
        beside = [each for each in threads if place_of(each) == place_of(thread)]
        emptiest = min(beside, key=lambda each: load.get(each.server, 0), default=thread)
        more = load.get(thread.server, 0) - load.get(emptiest.server, 0)
        if more >= 2:
            found.append((more, slot, emptiest))
    if not found:
        return None
    _, slot, target = max(found, key=lambda each: each[:2])
    return slot, target
