"""``StreamsEosTest``: Java writes random numbers and wants every result of each exactly once."""

from __future__ import annotations

from tests.verifiers.jars import WITH_EOS
from tests.verifiers.programs import eos
from tests.verifiers.trial import Trial, TrialError

_PARTITIONS = 5
_DELIVERED = "ALL-RECORDS-DELIVERED"
#: How long one round of kills may take.
_ROUND_S = 300.0
#: Without kills Java still has to write something.
_PRODUCED = "10000 records produced"
_SETTINGS = {
    # With longer intervals most kills fall between two batches and hit no open transaction.
    "commit.interval.ms": 10,
    # Each update has to reach the output: Java compares one result for each input record.
    "statestore.cache.max.bytes": 0,
}


def run(trial: Trial) -> str:
    return _run(trial, "eos", "verify")


def run_complex(trial: Trial) -> str:
    return _run(trial, "eos-complex", "verify-complex")


def _run(trial: Trial, program: str, command: str) -> str:
    """Kill for some rounds while Java produces, close the program, and let Java compare."""
    trial.create_topics(dict.fromkeys(eos.TOPICS, _PARTITIONS))
    trial.start_app(program, eos.APPLICATION, _SETTINGS)
    trial.wait_for_app()
    driver = trial.java("StreamsEosTest", trial.properties(), "run", version=WITH_EOS)
    injector, wanted = trial.disturb(), trial.options.rounds
    trial.wait(
        lambda: driver.has(_PRODUCED) and trial.rounds() >= wanted,
        wanted * _ROUND_S,
        f"{wanted} rounds of kills, and {_PRODUCED!r}",
    )
    trial.calm()
    trial.wait(lambda: trial.has_recovered(injector), 120.0, "a commit after the last kill")
    driver.ask_to_end()
    trial.wait(lambda: not driver.is_running, 120.0, "Java's generator to end")
    trial.close_app()
    judge = trial.java("StreamsEosTest", trial.properties(), command, version=WITH_EOS)
    trial.wait(lambda: not judge.is_running, 700.0, "Java's verifier")
    if not judge.has(rf"(?m)^{_DELIVERED}$"):
        raise TrialError(f"Java's verifier ended with {judge.code}:\n{judge.tail(30)}")
    return _DELIVERED
