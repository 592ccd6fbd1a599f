"""Keeps the chatter of Spark's Java process out of the terminal, and at hand if it is needed."""

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
#: Codes of errors whose cause only Spark knows.
_FROM_SPARK = ("batch-failed", "query-ended")


class JavaLog:
    """A file for what Java writes to standard error; it goes unless it is asked to stay."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="penstock-spark-", suffix=".log")
        self._handle = handle
        self.path = Path(name)

    @contextmanager
    def taking_stderr(self) -> Iterator[None]:
        """A process that is started inside this block writes its errors to the file for good.

        What Python itself prints meanwhile still gets to where it belongs.
        """
        sys.stderr.flush()
        before = sys.stderr
        with os.fdopen(os.dup(_STDERR), "w", encoding="utf-8", buffering=1) as saved:
            if before is sys.__stderr__:
                sys.stderr = saved
            os.dup2(self._handle, _STDERR)
            try:
                yield
            finally:
                os.dup2(saved.fileno(), _STDERR)
                if sys.stderr is saved:
                    sys.stderr = before

    def close(self, *, keep: bool) -> None:
        os.close(self._handle)
        if not keep:
            self.path.unlink(missing_ok=True)


@contextmanager
def java_log() -> Iterator[JavaLog]:
    """Gives a log that stays, and is named, only after an error that it may explain."""
    log = JavaLog()
    is_needed = False
    try:
        yield log
    except Exception as error:
        # Any other error of ours says all there is to say.
        is_needed = not isinstance(error, PenstockError) or error.code in _FROM_SPARK
        raise
    finally:
        log.close(keep=is_needed)
        if is_needed:
            print_note(f"what Spark said: {log.path}")


class _ToStderr(logging.Handler):
    """Writes to whatever standard error is at the moment: a view may have taken it over."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr)


def configure_logging(*, is_verbose: bool) -> None:
    """Prints the library's log to standard error if asked to; third parties' stay silent."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    if not is_verbose:
        warnings.filterwarnings("ignore", module=r"pyspark\b.*")
        return
    handler = _ToStderr()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s  %(message)s"))
    library = logging.getLogger("penstock")
    library.addHandler(handler)
    library.setLevel(logging.INFO)
