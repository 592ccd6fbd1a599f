"""``ShutdownDeadlockTest``: a handler that ends the process must end it, whatever is killed."""

from __future__ import annotations

from tests.verifiers.programs.shutdown_deadlock import APPLICATION, CALLED, SOURCE
from tests.verifiers.trial import Trial, TrialError

#: As long as Kafka's own test waits, from the call of the handler on.
_END_S = 60.0
#: How often a kill is tried that comes after the end of the process.
_TRIES = 3


def run(trial: Trial) -> str:
    """Try it undisturbed, and then with each kind of kill at the moment of the exit."""
    trial.create_topics({SOURCE: 1})
    _try(trial, None)
    count = 1
    for kind in trial.options.kills:
        for _ in range(_TRIES):
            count += 1
            if _try(trial, kind):
                break
    return f"the process ended in all {count} trials"


def _try(trial: Trial, kind: str | None) -> bool:
    """Start the program, and kill something when its handler has been called: it has to end.

    Returns:
        whether the kill came before the end of the process.
    """
    app = trial.start_app("shutdown-deadlock", APPLICATION)
    trial.leave_alone()
    trial.wait(lambda: CALLED in trial.app_text or not app.is_running, 180.0, "the handler's call")
    if CALLED not in trial.app_text:
        raise TrialError(f"the program ended before its handler was called: {app.last_error()}")
    has_killed = kind is not None and trial.kill_if_there(kind)
    how = f"kill of the {kind}" if has_killed else f"no {kind or 'kill'}"
    trial.wait(lambda: not app.is_running, _END_S, f"the end of the process ({how})")
    code = None if app.process is None else app.process.returncode
    trial.report(f"ended with {code} ({how})")
    if code not in ((1, -9) if kind == "driver" else (1,)):
        trial.problems.append(f"exit code {code}, not 1 ({how})")
    trial.wait(lambda: not trial.leftovers(), _END_S, f"the end of its processes ({how})")
    return has_killed
