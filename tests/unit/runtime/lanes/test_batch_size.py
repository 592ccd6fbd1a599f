"""How many records a batch of a lane takes: by the time that the last ones took."""

from __future__ import annotations

import pytest

from penstock.runtime.spark.driver.lanes.batch_size import BatchSize, Overhead

LARGE = 120_000


def test_batches_of_a_backlog_are_sized_by_the_time_they_take() -> None:
    """About two seconds: at most four times the last one, and never more than is allowed."""
    size, sizes = BatchSize(LARGE), []
    for seconds in (0.1, 0.1, 0.1, 4.0, 1.0, 0.0):
        sizes.append(size.records)
        size.learn(sizes[-1], seconds)
    assert sizes == [5_000, 20_000, 80_000, 120_000, 60_000, 120_000]


def test_the_limit_of_the_user_is_the_most_from_the_first_batch_on() -> None:
    size = BatchSize(10)
    for _ in range(3):
        assert size.records == 10
        size.learn(10, 0.001)


def test_a_batch_that_was_not_full_says_nothing_about_the_next() -> None:
    """A few records may take long for reasons that are not their number."""
    size = BatchSize(LARGE)
    size.learn(10, 50.0)
    assert size.records == 5_000


def test_slow_batches_shrink_but_not_to_nothing() -> None:
    """A record that takes a second each still leaves batches worth their overhead."""
    size = BatchSize(LARGE)
    size.learn(5_000, 5_000.0)
    assert size.records == 200


def test_batches_of_a_sparse_topic_take_more_offsets() -> None:
    """Compaction may have left one record in a thousand offsets, then one in each again."""
    size, sizes = BatchSize(LARGE), []
    for density in (0.001, 0.001, 0.001, 1.0, 1.0):
        sizes.append(size.offsets)
        records = int(sizes[-1] * density)
        size.note_density(records, [(0, sizes[-1])])
        size.learn(records, 0.01)
    assert sizes[:4] == [5_000, 20_000, 80_000, 320_000]
    assert sizes[4] <= 20_000


def test_a_few_offsets_say_nothing_about_the_density() -> None:
    """The end of a transaction takes an offset; with one record it would be every second one."""
    size = BatchSize(LARGE)
    size.note_density(1, [(0, 150), (0, 49)])
    assert size.offsets == size.records


def test_what_a_batch_costs_without_records_makes_batches_longer() -> None:
    """The fixed part is to take a tenth of the time."""
    size = BatchSize(LARGE)
    size.learn(5_000, 2.0, overhead_s=0.3)
    # Ten times the fixed time, of which the records get nine tenths.
    assert size.records == int(2.7 / (1.7 / 5_000))


def test_no_fixed_cost_makes_a_batch_endless() -> None:
    size = BatchSize(10**9)
    for _ in range(20):
        records = size.records
        size.learn(records, 5.0 + records / 10_000, overhead_s=5.0)
    assert size.records == pytest.approx(40_000, rel=0.01)


def test_overhead_that_grows_with_the_records_is_not_fixed() -> None:
    """Reading and committing take longer for more records; that is no reason for more records."""
    overhead = Overhead()
    fixed = [overhead.note(records, 0.2 + records / 50_000) for records in (5_000, 20_000, 80_000)]
    assert fixed == pytest.approx([0.3, 0.2, 0.2])
    # A row of equal batches does not make it forget what a record costs.
    for _ in range(50):
        fixed.append(overhead.note(80_000, 1.8))
    assert fixed[-1] == pytest.approx(0.2)
