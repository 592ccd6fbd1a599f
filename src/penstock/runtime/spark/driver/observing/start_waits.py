"""What an application waits for while no batches run: Kafka at its start, or after a failure."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from penstock.config import APPLICATION_ID, DEFAULT_API_TIMEOUT_MS, STATE_DIR, StreamsConfig
from penstock.errors import PenstockError
from penstock.runtime.spark.driver.observing.failure_log import FailureLog

log = logging.getLogger(__name__)

_T = TypeVar("_T")
_PAUSE_S = 1.0
#: If Kafka does not answer within this time at the start, the application says so.
_QUIET_START_S = 4.0


def start_deadline(config: StreamsConfig) -> float:
    """Return until when a start waits for the first answer of Kafka.

    An application that has state here has run before, so its settings are right. It waits without
    limit, as it does while it runs: it may be restarted while the brokers are away.
    """
    folder = Path(config[STATE_DIR]).expanduser() / config[APPLICATION_ID]
    if any(each.is_dir() for each in folder.glob("*")):
        return math.inf
    return time.monotonic() + config[DEFAULT_API_TIMEOUT_MS] / 1000


class StartWaits:
    """The reason why an application does not run yet, or not again."""

    def __init__(self) -> None:
        self._asking_since: float | None = None
        self._asked = ""
        self._problem: str | None = None
        self._deadline = 0.0
        #: Why earlier attempts failed, too.
        self.failures = FailureLog()

    def begin(self, config: StreamsConfig) -> None:
        """Note that the application starts now."""
        self._deadline = start_deadline(config)

    @property
    def is_late(self) -> bool:
        """Whether a start has taken so long that it fails with the next error."""
        return time.monotonic() > self._deadline

    def asking_servers(self, servers: str | Iterable[str]) -> None:
        """Note that Kafka is asked for the first time."""
        named = servers if isinstance(servers, str) else ",".join(servers)
        self._asking(f"no answer yet from Kafka at {named}")

    def asking_group(self) -> None:
        """Note that this instance waits until the group has decided."""
        self._asking("the consumer group has not chosen yet which instance leads")

    def asking_log(self) -> None:
        """Note that this instance is about to lead, and reads what the last leader has left."""
        self._asking("no answer yet from Kafka about the last run: its log and open transactions")

    def _asking(self, what: str) -> None:
        self._asking_since, self._asked = time.monotonic(), what

    def until_done(
        self,
        prepare: Callable[[], _T],
        may_pass: Callable[[Exception], bool],
        closing: threading.Event,
    ) -> _T:
        """Prepare the application, and try again while Kafka is starting; return what it has then.

        Args:
            may_pass: tells whether an error is a reason to wait. Others are raised.
        """
        while True:
            try:
                prepared = prepare()
            except PenstockError as error:
                if not may_pass(error):
                    self.over()
                    raise
                self.failed(error)
                log.warning("waiting for Kafka to start: %s", error)
                closing.wait(_PAUSE_S)
            else:
                self.over()
                return prepared

    def failed(self, error: PenstockError) -> None:
        """Note why the last attempt to start failed."""
        self._problem = error.message
        self.failures.note(error)

    def over(self) -> None:
        """Note that nothing is missing any more."""
        self._asking_since = self._problem = None

    def told(self, *, has_started: bool) -> str | None:
        """Return what the application waits for; None if it has only just begun to wait."""
        since = self._asking_since
        if self._problem is not None:
            return self._problem
        if since is None:
            return "another instance leads the application" if has_started else None
        return None if time.monotonic() - since < _QUIET_START_S else self._asked
