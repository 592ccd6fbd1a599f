"""Chooses how the batches of a task run, over columns or by record, by what they have cost so far.

Columns cost something for each batch, and little for each record; how much depends on what the task
does. So the task measures both, as a cost for the batch and one for each record. Whichever form
runs, the results are the same.
"""

from __future__ import annotations

from collections.abc import Callable

#: What a batch counts after each further batch of its form.
_DECAY = 0.98
#: A form has to be cheaper by this factor to take over from the other one.
_HYSTERESIS = 0.85
#: The share of its time that a task spends on batches that only measure the other form.
_TRIALS = 0.03
#: The most that is saved up for such batches, in seconds.
_MOST_SPARE_S = 2.0
#: What a form that has not run yet is taken to cost at most, compared with the other one.
_UNKNOWN = 4.0
#: The first batches of a form load modules and fill caches, so they are not counted.
_WARM_UP = 2
#: So many batches must be counted before the cost of a form is known.
_LEAST = 3
#: After so many batches of the other form, the cost of a form is measured again: later, if it was
#: more than twice that of the other one.
_SOON, _STALE = 30, 1_000
#: A batch counts at most so many times what it should have cost: others may have used the machine.
_OUTLIER = 4.0


class FormCost:
    """What batches of one form cost: so much for a batch, and so much for each record."""

    def __init__(self) -> None:
        self._seen = 0
        self._weight = self._records = self._squares = self._seconds = self._products = 0.0

    @property
    def is_known(self) -> bool:
        return self._seen >= _WARM_UP + _LEAST

    def add(self, records: int, seconds: float) -> None:
        """Count a batch; the first ones are only warm-up."""
        self._seen += 1
        if self._seen <= _WARM_UP:
            return
        if self.is_known:
            seconds = min(seconds, _OUTLIER * self.of(records))
        self._weight = self._weight * _DECAY + 1
        self._records = self._records * _DECAY + records
        self._squares = self._squares * _DECAY + records * records
        self._seconds = self._seconds * _DECAY + seconds
        self._products = self._products * _DECAY + records * seconds

    def of(self, records: int) -> float:
        """Return what a batch should cost, in seconds."""
        mean, cost = self._records / self._weight, self._seconds / self._weight
        spread = self._squares / self._weight - mean * mean
        if spread <= (0.05 * mean) ** 2:
            # All batches had about the same size, so one of another size may cost anything.
            return cost * records / mean
        per_record = (self._products / self._weight - mean * cost) / spread
        per_record = min(max(per_record, 0.0), cost / mean)
        return cost - per_record * mean + per_record * records


class FormChoice:
    """Decide for each batch of a task whether it runs over columns.

    Args:
        at_least: So many records a batch needs to run over columns, as long as nothing is known.
        clock: Returns the time that this thread has used, in seconds. Then costs decide later on;
            without it, ``at_least`` always does.
    """

    def __init__(self, at_least: int, clock: Callable[[], float] | None = None) -> None:
        self._at_least, self._clock = at_least, clock
        self.columns, self.records = FormCost(), FormCost()
        #: By the size of a batch as a power of 2, whether columns ran last.
        self._last: dict[int, bool] = {}
        #: What may be spent on trials.
        self._spare_s = 0.0
        #: While a trial runs: what the batch would cost in the usual form.
        self._usual_s: float | None = None
        #: How many batches have run since the last one over columns, and by record.
        self._since = {True: 0, False: 0}
        self._began = 0.0

    def takes_columns(self, records: int) -> bool:
        """Return whether a batch of so many records runs over columns, if it can."""
        self._usual_s = None
        if self._clock is None:
            return records >= self._at_least
        takes = self._cheaper(records)
        extra = self._trial(records, self.columns if takes else self.records, not takes)
        if extra is None or extra > self._spare_s:
            return takes
        self._usual_s = (self.columns if takes else self.records).of(records)
        return not takes

    def begin(self) -> None:
        """Begin to measure a batch."""
        if self._clock is not None:
            self._began = self._clock()

    def end(self, records: int, *, tried_columns: bool) -> None:
        """Count a batch that has run, in the form in which it began.

        Columns that are given up cost what they took, and what the records took after them.
        """
        if self._clock is None or not records:
            return
        seconds = self._clock() - self._began
        (self.columns if tried_columns else self.records).add(records, seconds)
        self._since[tried_columns] = 0
        self._since[not tried_columns] += 1
        if self._usual_s is None:
            self._spare_s = min(self._spare_s + _TRIALS * seconds, _MOST_SPARE_S)
        else:
            # It may have cost more than was thought; the next trial waits until that is saved up.
            self._spare_s -= max(seconds - self._usual_s, 0.0)
            self._usual_s = None

    def _cheaper(self, records: int) -> bool:
        size = records.bit_length()
        before = self._last.get(size, records >= self._at_least)
        if not (self.columns.is_known and self.records.is_known):
            return before
        columns, by_record = self.columns.of(records), self.records.of(records)
        if before:
            takes = columns * _HYSTERESIS <= by_record
        else:
            takes = columns < by_record * _HYSTERESIS
        self._last[size] = takes
        return takes

    def _trial(self, records: int, usual: FormCost, other: bool) -> float | None:
        """Return what it costs more to run a batch in the other form; None if it is of no use."""
        cost, since = self.columns if other else self.records, self._since[other]
        if not usual.is_known:
            return None
        expected = usual.of(records)
        if not cost.is_known:
            return (_UNKNOWN - 1) * expected
        extra = max(cost.of(records) - expected, 0.0)
        return extra if since >= (_SOON if extra < expected else _STALE) else None
