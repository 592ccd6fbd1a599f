"""Keep the output of Spark's Java process out of the terminal, in a file for after an error."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.cli.output import print_note
from penstock.errors import PenstockError

_STDERR = 2
#: Codes of errors whose cause may be only in Spark's log.
_FROM_SPARK = ("batch-failed", "query-ended")


class JavaLog:
    """A temporary file for Java's standard error; ``close`` deletes it unless told to keep it."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="penstock-spark-", suffix=".log")
        self._handle = handle
        #: A copy of the real standard error while the file stands in its place.
        self._terminal: int | None = None
        self.path = Path(name)

    @contextmanager
    def taking_stderr(self) -> Iterator[None]:
        """Make processes that are started inside a ``with`` block write standard error to the file.

        They do so for their whole life. Python's own output to standard error still reaches the
        terminal.
        """
        sys.stderr.flush()
        before = sys.stderr
        with os.fdopen(os.dup(_STDERR), "w", encoding="utf-8", buffering=1) as saved:
            if before is sys.__stderr__:
                sys.stderr = saved
            os.dup2(self._handle, _STDERR)
            self._terminal = saved.fileno()
            try:
                yield
            finally:
                self._give_back()
                if sys.stderr is saved:
                    sys.stderr = before

    def _give_back(self) -> None:
        terminal, self._terminal = self._terminal, None
        if terminal is not None:
            os.dup2(terminal, _STDERR)

    def close(self, *, keep: bool) -> None:
        """Close the file; messages reach the terminal again.

        An error may end a command while another thread is still starting Java. The text of the
        error must then reach the terminal, not the file.
        """
        self._give_back()
        os.close(self._handle)
        if not keep:
            self.path.unlink(missing_ok=True)


@contextmanager
def java_log() -> Iterator[JavaLog]:
    """Yield a log for Java's output.

    After an error that it may explain, the file is kept and its name printed. Otherwise it is
    deleted.
    """
    log = JavaLog()
    is_needed = False
    try:
        yield log
    except Exception as error:
        # Penstock's other errors explain themselves.
        is_needed = not isinstance(error, PenstockError) or error.code in _FROM_SPARK
        raise
    finally:
        log.close(keep=is_needed)
        if is_needed:
            print_note(f"what Spark said: {log.path}")


class _ToStderr(logging.Handler):
    """Write to the current standard error, which a view may have replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr)


class _CurrentStderr:
    """A stream that writes to whatever standard error is at the moment."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def follow_stderr() -> None:
    """Keep the program's own log on the terminal while a view or Java's log has standard error.

    A handler of ``logging`` keeps the stream that it was made with. While Spark starts, that stream
    leads to the file for Java's output.
    """
    loggers = [logging.getLogger(), *logging.getLogger().manager.loggerDict.values()]
    for logger in loggers:
        for handler in logger.handlers if isinstance(logger, logging.Logger) else ():
            if isinstance(handler, logging.StreamHandler) and handler.stream is sys.__stderr__:
                handler.setStream(_CurrentStderr())


def configure_logging(*, is_verbose: bool) -> None:
    """Print the library's log to standard error if ``is_verbose``; other libraries stay silent."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    if not is_verbose:
        warnings.filterwarnings("ignore", module=r"pyspark\b.*")
        return
    handler = _ToStderr()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s  %(message)s"))
    library = logging.getLogger("penstock")
    library.addHandler(handler)
    library.setLevel(logging.INFO)
