"""Whether an application has processed everything that there is."""

from __future__ import annotations

import logging

from penstock.errors import PenstockError
from penstock.runtime.spark.driver.application_run import ApplicationRun
from penstock.runtime.spark.driver.batch_runner import BatchRunner

log = logging.getLogger(__name__)


def is_idle(run: ApplicationRun | None, *, is_paused: bool) -> bool:
    """Tell whether the first batch has run and no records are waiting."""
    runner = None if run is None else run.runner
    if run is None or runner is None:
        return False
    if not (is_paused or runner.has_run) or _has_more(runner):
        return False
    try:
        if any(run.lag().values()):
            return False
    except PenstockError as error:
        # Kafka cannot be reached, or another instance leads. The batches wait, too.
        log.debug("the lag is not known: %s", error)
        return False
    # What was read while the lag was asked for may still be on its way to the stores.
    return not _has_more(runner)


def _has_more(runner: BatchRunner) -> bool:
    return runner.has_leftover() or runner.is_waiting
