"""Whatever ends, fails or loses the lead, one of the survivors leads soon, and goes on to lead.

The group takes part in none of it: it is busy with a member that is dead. The instances decide by
``penstock.runtime.spark.driver.instances.succession`` alone, and time is simulated.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.driver.instances.succession import LastLeader, Succession
from penstock.runtime.spark.exchange.batch_log import InstanceRecord

NAMES = "abcd"
TICK_S = 0.1
#: A takeover takes less than this, from the decision to the generation in the log.
LONGEST_S = 3.0
#: The lead is idle for 4 seconds; three others have a turn of 1.5 seconds each; one takes over.
SOON_S = 4.0 + 3 * 1.5 + LONGEST_S + 1.0


class World:
    """Some instances; each one waits for its turn, takes the lead, or runs batches."""

    def __init__(self, takeovers_s: dict[str, float]) -> None:
        self.now = 0.0
        self.generation, self.leader = 1, "a"
        self.alive = set(NAMES)
        #: Those that are alive and do nothing any more.
        self.stuck: set[str] = set()
        #: Those that say that they lead.
        self.leading = {"a"}
        self.running = {"a"}
        self.taking: dict[str, float] = {}
        self._takeovers_s = takeovers_s
        self._records = [
            InstanceRecord(name, 1, "", 1, "", number) for number, name in enumerate(NAMES)
        ]
        self._successions = {name: self._succession(name) for name in NAMES}

    def _succession(self, name: str) -> Succession:
        return Succession(name, lambda: name in self.leading, self._look, lambda: self.now)

    def _look(self, others: Sequence[InstanceRecord]) -> dict[str, Life]:
        return {each.id: self.life(each.id) for each in others}

    def life(self, name: str) -> Life:
        if name not in self.alive:
            return Life.GONE
        return Life.LEADS if name in self.leading else Life.FOLLOWS

    @property
    def is_led(self) -> bool:
        return self.leader in self.running

    def happens(self, what: str) -> None:
        """The instance that leads, or is about to, is killed, fails, loses the lead, or sticks."""
        subject = next(iter(self.taking), self.leader)
        is_last = self.alive - self.stuck <= {subject}
        if subject not in self.alive or (what in ("kill", "stick") and is_last):
            return
        self.running.discard(subject)
        self.taking.pop(subject, None)
        if what == "kill":
            self.alive.discard(subject)
        if what == "stick":
            self.stuck.add(subject)
        if what != "fail":
            self.leading.discard(subject)

    def passes(self, seconds: float) -> None:
        for _ in range(round(seconds / TICK_S)):
            self.now += TICK_S
            for name in sorted(self.alive - self.stuck):
                self._live(name)

    def _live(self, name: str) -> None:
        if name in self.running and name != self.leader:
            self.running.discard(name)
        elif name in self.taking and self.now >= self.taking[name]:
            del self.taking[name]
            self.generation, self.leader = self.generation + 1, name
            self.running.add(name)
        elif name not in self.running and name not in self.taking:
            life = None if name == self.leader else self.life(self.leader)
            seen = LastLeader(self.generation, self.leader, life)
            if self._successions[name].is_next(seen, self._records):
                self.leading.add(name)
                self.taking[name] = self.now + self._takeovers_s[name]
            else:
                self.leading.discard(name)


EVENTS = st.lists(
    st.tuples(st.sampled_from(["kill", "fail", "lose", "stick"]), st.floats(0.1, 8.0)),
    min_size=1, max_size=8,
)  # fmt: skip
TAKEOVERS = st.fixed_dictionaries({name: st.floats(0.2, LONGEST_S - 0.2) for name in NAMES})


@given(events=EVENTS, takeovers_s=TAKEOVERS)
def test_the_lead_is_taken_soon_and_kept(
    events: list[tuple[str, float]], takeovers_s: dict[str, float]
) -> None:
    """No order of events leaves it to nobody, and none costs more than one takeover."""
    world = World(takeovers_s)
    for what, seconds in events:
        world.happens(what)
        world.passes(seconds)
    world.passes(SOON_S)
    assert world.is_led
    world.passes(30.0)
    assert world.is_led
    assert world.generation - 1 <= len(events)
