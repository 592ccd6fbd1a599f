"""Makes slots write their state to disk and end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import ask
from penstock.runtime.spark.exchange.questions import CloseSlot, SlotId
from penstock.runtime.spark.exchange.stage_request import Endpoint, Release

log = logging.getLogger(__name__)

#: How long to wait for all slots together.
_PATIENCE_S = 10.0


def release_slots(
    endpoints: Mapping[int, Endpoint], secret: bytes, key: str, release: Release
) -> None:
    """Ask the stream threads of slots to close them, all at the same time.

    The call does not wait for a slot that is paused or still inside a function of the user: it
    would hang as long as that function. State that a slot has not written to disk is in its
    changelogs.

    Args:
        endpoints: by number of the slot, its thread.
        key: the name of this run of the application.
    """

    def close(number: int, endpoint: Endpoint) -> None:
        try:
            ask(endpoint, secret, CloseSlot(SlotId(key, number), release))
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
