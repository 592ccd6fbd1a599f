"""A wall clock that a test can move, for one process and its children."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


class MovableClock:
    """A preloaded library whose shift, in seconds, stands in a file. Linux with ``cc`` only."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock-seconds"
        self._library = folder / "clock.so"
        self.shift(0)
        compiler = shutil.which("cc")
        self.is_there = compiler is not None
        if compiler is not None:
            source = Path(__file__).with_name("clock.c")
            command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(self._library), str(source)]
            subprocess.run([*command, "-ldl", "-lpthread"], check=True)

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a process that shall see this clock."""
        if not self.is_there:
            return {}
        return {"LD_PRELOAD": str(self._library), "PENSTOCK_CLOCK_FILE": str(self._file)}

    def shift(self, seconds: int) -> None:
        """Move the clock away from the true time; processes notice it within a second."""
        new = self._file.with_suffix(".new")
        new.write_text(str(seconds), encoding="utf-8")
        new.rename(self._file)
