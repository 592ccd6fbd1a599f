"""Whether an application has processed everything that there is."""

from __future__ import annotations

import logging

from penstock.errors import PenstockError
from penstock.runtime.spark.driver.application_run import ApplicationRun

log = logging.getLogger(__name__)


def is_idle(run: ApplicationRun | None, *, is_paused: bool) -> bool:
    """Tell whether the first batch has run and no records are waiting."""
    runner = None if run is None else run.runner
    if run is None or runner is None:
        return False
    has_begun = is_paused or runner.has_run
    if not has_begun or runner.has_leftover() or runner.is_waiting:
        return False
    try:
        return not any(run.lag().values())
    except PenstockError as error:
        # Kafka cannot be reached, or another instance leads. The batches wait, too.
        log.debug("the lag is not known: %s", error)
        return False
