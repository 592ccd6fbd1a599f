"""What Kafka's clients log, without its repetitions.

While a broker cannot be reached, every client writes a line for each attempt to reach it: hundreds
a minute, which hide the line that says what the application waits for.
"""

from __future__ import annotations

import logging
import re
import time

_QUIET_S = 10.0
_MOST = 1000
#: The parts that differ between two lines with the same message.
_CHANGING = re.compile(r"^\[thrd:[^\]]*\]: |\(after [^)]*\)|\d+ms|, \d+ identical error\(s\).*")


class Seldom(logging.Filter):
    """Lets a line through if no client has logged the same in the last ten seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a line is logged. Its arguments are the kind, the client and the text."""
        if record.levelno <= logging.DEBUG or not isinstance(record.args, tuple):
            return True
        kind = str(record.args[0]) if record.args else ""
        text = str(record.args[-1]) if record.args else record.getMessage()
        said, now = (kind, _CHANGING.sub("", text)), time.monotonic()
        if now - self._logged.get(said, -_QUIET_S) < _QUIET_S:
            return False
        if len(self._logged) >= _MOST:
            self._logged.clear()
        self._logged[said] = now
        return True
