"""``StreamsSmokeTest``: Java writes 20,000 records in 90 s and compares ten outputs."""

from __future__ import annotations

from tests.verifiers.programs import smoke
from tests.verifiers.trial import Trial, TrialError

_PARTITIONS = 5
_PRODUCED = "20000 records produced"
#: Java's verifier gives up after six minutes by itself.
_VERIFY_S = 600.0


def run(trial: Trial) -> str:
    """Kill while Java produces; then Java compares."""
    trial.create_topics(dict.fromkeys(smoke.TOPICS, _PARTITIONS))
    trial.start_app("smoke", smoke.APPLICATION, {"commit.interval.ms": 1_000})
    trial.wait_for_app()
    driver = trial.java("StreamsSmokeTest", trial.properties(), "run")
    trial.disturb()
    trial.wait(lambda: driver.has(_PRODUCED) or not driver.is_running, 300.0, "Java's generator")
    trial.finish_round("data")
    trial.wait(lambda: not driver.is_running, _VERIFY_S, "Java's verifier")
    trial.close_app()
    # With at least once, Kafka's own test takes more output than input after a crash.
    is_at_least_once = trial.options.guarantee == "at_least_once"
    accepted = ["SUCCESS", *(["PROCESSED-MORE-THAN-GENERATED"] if is_at_least_once else ())]
    for said in accepted:
        if driver.has(rf"(?m)^{said}$") and not driver.has("PROCESSED-LESS-THAN-GENERATED"):
            return said
    raise TrialError(f"Java's verifier ended with {driver.code}:\n{driver.tail(30)}")
