"""``RelationalSmokeTest``: Java writes articles and comments, and compares what was joined."""

from __future__ import annotations

from tests.verifiers.programs import relational
from tests.verifiers.trial import Trial, TrialError

_PRODUCED = "Smoke test finished producing"
_PASSED = "Smoke test complete: passed"


def run(trial: Trial) -> str:
    """Kill while Java produces; then Java compares until all is there."""
    trial.create_topics(relational.TOPICS)
    trial.start_app("relational", relational.APPLICATION, {"commit.interval.ms": 1_000})
    trial.wait_for_app()
    driver = trial.java("RelationalSmokeTest", "driver", trial.servers)
    trial.disturb()
    trial.wait(lambda: driver.has(_PRODUCED) or not driver.is_running, 600.0, "Java's generator")
    trial.finish_round(relational.ARTICLES, relational.COMMENTS)
    # Java itself waits for ten minutes at most.
    trial.wait(lambda: not driver.is_running, 700.0, "Java's verifier")
    trial.close_app()
    if not driver.has(_PASSED):
        raise TrialError(f"Java's verifier ended with {driver.code}:\n{driver.tail(30)}")
    return _PASSED
