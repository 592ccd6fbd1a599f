"""What an application has done since it was started, and what it waits for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from penstock.runtime.spark.driver.observing.commit_ring import CommitRing
from penstock.runtime.spark.driver.observing.failure_log import FailureLog


@dataclass(slots=True)
class Progress:
    """Totals and state of the run so far, for the live view and for metrics."""

    batches: int = 0
    records: int = 0
    sent: int = 0
    logged: int = 0
    restored: int = 0
    #: When the first batch of this run began, in milliseconds since the epoch.
    began_ms: int | None = None
    last_batch_seconds: float = 0.0
    last_batch_records: int = 0
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)
    column_errors: Counter[str] = field(default_factory=Counter)
    position: dict[tuple[str, int], int] = field(default_factory=dict)
    #: What the application waits for right now; None while batches run or there is no input.
    waiting_for: str | None = None
    #: Whether slots go on beside the one that waits for this.
    others_go_on: bool = False
    #: The inputs whose records an open transaction of another program holds back, in words.
    held_back: str | None = None
    #: The record or function that a slot has been busy with for long, in words.
    busy_with: str | None = None
    #: The last failures of batches that ran again.
    failures: FailureLog = field(default_factory=FailureLog)
    #: The last commits, for those who look back.
    commits: CommitRing = field(default_factory=CommitRing)
    #: Batches that had to run again.
    reruns: int = 0

    @property
    def may_ask(self) -> bool:
        """Whether Kafka is likely to answer: nothing waits, or only a part does."""
        return self.waiting_for is None or self.others_go_on

    def continue_from(self, earlier: Progress | None) -> None:
        """Continue the totals of an earlier run of the same program."""
        if earlier is None:
            return
        for name in ("batches", "records", "sent", "logged", "restored", "began_ms", "reruns"):
            setattr(self, name, getattr(earlier, name))
        self.failures, self.commits = earlier.failures, earlier.commits
        self.dropped = Counter(earlier.dropped)
        self.column_errors = Counter(earlier.column_errors)
