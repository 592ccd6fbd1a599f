"""Sizes the batches of one lane by how long the last ones took."""

from __future__ import annotations

from penstock.runtime.spark.exchange.stage_request import Range

#: How long a batch of a backlog should take, and how long at most. A shorter batch would consist
#: mostly of overhead.
_BATCH_S, _LONGEST_S = 2.0, 8.0
_FIRST_RECORDS = 5_000
_FEWEST_RECORDS = 200
_LEAST_DENSITY = 0.001
#: The part of a batch that does not depend on its records may take this share of its time.
_FIXED_SHARE = 0.1
#: The weight of a batch relative to the one after it, when the fixed part is estimated.
_MEMORY = 0.8
#: If the sizes of batches differ by less than this share, they do not show the cost of a record.
_ALIKE = 0.1
#: A batch that is filled to this share shows how long a full one takes.
FULL = 0.8


class Overhead:
    """Estimates the time of a batch outside its tasks: a fixed part and a part per record.

    The estimate is a straight line through the batches so far; later ones have more weight. If all
    batches have about the same size, the last known slope is used.
    """

    def __init__(self) -> None:
        self._weight = self._x = self._y = self._xx = self._xy = 0.0
        self._slope = 0.0

    def note(self, records: int, seconds: float) -> float:
        """Add a batch; return the estimated fixed part in seconds."""
        self._weight = self._weight * _MEMORY + 1.0
        self._x = self._x * _MEMORY + records
        self._y = self._y * _MEMORY + seconds
        self._xx = self._xx * _MEMORY + records * records
        self._xy = self._xy * _MEMORY + records * seconds
        mean_x, mean_y = self._x / self._weight, self._y / self._weight
        spread = self._xx / self._weight - mean_x * mean_x
        if spread > (_ALIKE * mean_x) ** 2:
            slope = (self._xy / self._weight - mean_x * mean_y) / spread
            self._slope = max(slope, 0.0)
        return min(max(mean_y - self._slope * mean_x, 0.0), mean_y)


class BatchSize:
    """How many offsets the next batch of a lane takes at most.

    Args:
        most: the limit that the user has set.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._overhead = Overhead()
        self._records = min(_FIRST_RECORDS, most)
        #: The share of offsets that have a record.
        self._density = 1.0

    @property
    def records(self) -> int:
        return self._records

    @property
    def offsets(self) -> int:
        """The offsets that have about so many records."""
        return int(self._records / self._density)

    def learn(self, records: int, seconds: float, overhead_s: float = 0.0) -> None:
        """Size the next full batch by the time that this one took.

        If the fixed part is long, as it is with many stages, batches are longer. Otherwise most of
        the time would be overhead, and a second executor would not help.

        Args:
            overhead_s: the part of ``seconds`` in which no task was running.
        """
        if records < self._records * FULL or seconds <= 0:
            return
        fixed_s = self._overhead.note(records, overhead_s)
        wanted_s = min(max(_BATCH_S, fixed_s / _FIXED_SHARE), _LONGEST_S)
        per_record_s = max(seconds - fixed_s, seconds / 10) / records
        fitting = int(max(wanted_s - fixed_s, wanted_s / 2) / per_record_s)
        # In steps, because the first batches include work that is done only once.
        grown = min(fitting, 4 * self._records)
        self._records = min(max(grown, _FEWEST_RECORDS), self._most)

    def note_density(self, records: int, ranges: list[Range]) -> None:
        """Note how many of the offsets of a batch had a record.

        A compacted topic may have one in a thousand. Batches then take as many more offsets, in
        steps, because the next ones may have a record each.
        """
        offsets = sum(end - start for start, end in ranges)
        if offsets >= _FEWEST_RECORDS:
            found = min(records / offsets, 1.0)
            self._density = max(found, self._density / 4, _LEAST_DENSITY)
