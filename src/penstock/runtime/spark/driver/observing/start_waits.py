"""What an application waits for while no batches run: Kafka at its start, or after a failure."""

from __future__ import annotations

import time
from collections.abc import Iterable

#: If Kafka does not answer within this time at the start, the application says so.
_QUIET_START_S = 4.0


class StartWaits:
    """The reason why an application does not run yet, or not again."""

    def __init__(self) -> None:
        self._asking_since: float | None = None
        self._problem: str | None = None

    def asking(self) -> None:
        """Note that the application begins to ask Kafka, for the first time."""
        self._asking_since = time.monotonic()

    def failed(self, problem: str) -> None:
        """Note why the last attempt to start failed."""
        self._problem = problem

    def over(self) -> None:
        """Note that nothing is missing any more."""
        self._asking_since = self._problem = None

    def before_start(self, servers: str | Iterable[str]) -> str | None:
        """Return what the first start waits for; None if it has only just begun."""
        since = self._asking_since
        if since is None or time.monotonic() - since < _QUIET_START_S:
            return None
        named = servers if isinstance(servers, str) else ",".join(servers)
        return self._problem or f"no answer yet from Kafka at {named}"

    def after_start(self) -> str:
        """Return what an application waits for that has run, and has no batches now."""
        return self._problem or "another instance leads the application"
