"""How each verifier is driven and judged: one file each, by the name of its program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.verifiers.scenarios import (
    broker_down,
    eos,
    named_repartition,
    optimized,
    relational,
    shutdown_deadlock,
    smoke,
)
from tests.verifiers.trial import Trial

AT_LEAST_ONCE, EXACTLY_ONCE = "at_least_once", "exactly_once_v2"
BOTH = (EXACTLY_ONCE, AT_LEAST_ONCE)


@dataclass(frozen=True)
class Scenario:
    """A verifier: what runs it, and the guarantees that its judge can judge.

    ``run`` returns the line with which the judge has said that all is right.
    """

    run: Callable[[Trial], str]
    guarantees: tuple[str, ...]
    #: A single broker that was killed knows only the last batch of each producer, and refuses
    #: what Java's generators had sent before it. A replica knows more.
    brokers: int = 3


SCENARIOS = {
    "smoke": Scenario(smoke.run, BOTH),
    # Java compares exact counts, which at least once does not promise after a kill.
    "relational": Scenario(relational.run, (EXACTLY_ONCE,)),
    "eos": Scenario(eos.run, (EXACTLY_ONCE,)),
    "eos-complex": Scenario(eos.run_complex, (EXACTLY_ONCE,)),
    "optimized": Scenario(optimized.run, BOTH),
    "named-repartition": Scenario(named_repartition.run, BOTH),
    "shutdown-deadlock": Scenario(shutdown_deadlock.run, BOTH, brokers=1),
    "broker-down": Scenario(broker_down.run, BOTH, brokers=1),
}
