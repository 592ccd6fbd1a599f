"""Have slots bring their state to disk and end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import ask
from penstock.runtime.spark.exchange.stage_request import Endpoint, Release

log = logging.getLogger(__name__)

#: Slots that end are waited for so long, all together.
_PATIENCE_S = 10.0


def release_slots(
    endpoints: Mapping[int, Endpoint], secret: bytes, key: str, release: Release
) -> None:
    """Ask the servers of slots to close them, all at the same time.

    A slot that is paused, or that is still in a function of the user's, is not waited for: closing
    would hang as long as that function does. What a slot has not written is in its changelogs.

    Args:
        endpoints: by number of the slot, its server.
        key: names this run of the application.
    """

    def close(number: int, endpoint: Endpoint) -> None:
        try:
            ask(endpoint, secret, ("close", key, number, release))
        except StreamsError as error:
            log.info("slot %d could not be released: %s", number, error.message)

    asked = {
        number: threading.Thread(target=close, args=(number, endpoint), daemon=True)
        for number, endpoint in endpoints.items()
    }
    for thread in asked.values():
        thread.start()
    deadline = time.monotonic() + _PATIENCE_S
    for number, thread in asked.items():
        thread.join(max(deadline - time.monotonic(), 0.0))
        if thread.is_alive():
            log.warning("slot %d is busy: its end is not waited for", number)
