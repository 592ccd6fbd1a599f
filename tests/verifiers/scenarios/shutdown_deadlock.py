"""``ShutdownDeadlockTest``: a handler that ends the process must end it, whatever is killed."""

from __future__ import annotations

from tests.verifiers.programs.shutdown_deadlock import APPLICATION, CALLED, SOURCE
from tests.verifiers.trial import Trial, TrialError

#: As long as Kafka's own test waits, from the call of the handler on.
_END_S = 60.0


def run(trial: Trial) -> str:
    """Try it undisturbed, and then with each kind of kill at the moment of the exit."""
    trial.create_topics({SOURCE: 1})
    _try(trial, None)
    for kind in trial.options.kills:
        _try(trial, kind)
    return f"the process ended in all {1 + len(trial.options.kills)} trials"


def _try(trial: Trial, kind: str | None) -> None:
    """Start the program; kill something when its handler has been called; it has to end."""
    app = trial.start_app("shutdown-deadlock", APPLICATION)
    trial.leave_alone()
    trial.wait(lambda: CALLED in trial.app_text or not app.is_running, 180.0, "the handler's call")
    if CALLED not in trial.app_text:
        raise TrialError(f"the program ended before its handler was called: {app.last_error()}")
    if kind is not None:
        _kill_at_exit(trial, kind)
    trial.wait(lambda: not app.is_running, _END_S, f"the end of the process ({kind or 'no kill'})")
    code = None if app.process is None else app.process.returncode
    trial.report(f"ended with {code} ({kind or 'no kill'})")
    # A driver that was killed has the status of the kill.
    if code != (-9 if kind == "driver" else 1):
        trial.problems.append(f"exit code {code}, not 1 ({kind or 'no kill'})")
    trial.wait(lambda: not trial.leftovers(), _END_S, "the end of the program's other processes")


def _kill_at_exit(trial: Trial, kind: str) -> None:
    """Kill at once, if there is still something to kill."""
    if not trial.kill_if_there(kind):
        trial.report(f"no {kind} was left to kill")
