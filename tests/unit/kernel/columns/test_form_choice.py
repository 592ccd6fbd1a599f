"""The form of a batch follows from what batches have cost; the clock is made up."""

from __future__ import annotations

from random import Random

import pytest

from penstock.kernel.columns.form_choice import FormChoice, FormCost

US = 1e-6


class Task:
    """Batches whose cost is known: so much for each, and so much for each record."""

    def __init__(self, columns: tuple[float, float], by_record: tuple[float, float]) -> None:
        self._costs = {True: columns, False: by_record}
        self._now = 0.0
        self._random = Random(7)
        self.spent = {True: 0.0, False: 0.0}
        self.choice = FormChoice(256, lambda: self._now)

    def run(self, records: int) -> bool:
        self.choice.begin()
        form = self.choice.takes_columns(records)
        batch, record = self._costs[form]
        seconds = (batch + record * records) * (1 + 0.3 * self._random.random())
        if self._random.random() < 0.01:
            # Others use the machine, or Python looks for garbage.
            seconds *= 5
        self._now += seconds
        self.spent[form] += seconds
        self.choice.end(records, tried_columns=form)
        return form

    def share(self, records: int, batches: int) -> float:
        """Return the share of batches that run over columns."""
        return sum(self.run(records) for _ in range(batches)) / batches


COLUMNS_ARE_SLOWER = (2e-3, 30 * US), (1e-4, 20 * US)
COLUMNS_ARE_FASTER = (2e-3, 2 * US), (1e-4, 20 * US)


def test_columns_that_are_slower_are_left() -> None:
    task = Task(*COLUMNS_ARE_SLOWER)
    assert task.share(1_000, 50) > 0.9
    task.share(1_000, 1_500)
    assert task.share(1_000, 500) < 0.1


def test_small_batches_go_over_columns_where_that_is_faster() -> None:
    task = Task((1e-4, 1 * US), (1e-4, 20 * US))
    assert task.share(100, 50) == 0
    task.share(100, 1_500)
    assert task.share(100, 500) > 0.9


def test_each_size_has_its_form() -> None:
    task = Task(*COLUMNS_ARE_FASTER)
    sizes = (1, 10, 1_000, 10_000)
    for _ in range(1_000):
        for size in sizes:
            task.run(size)
    found = {size: sum(task.run(size) for _ in range(100)) for size in sizes}
    assert found[1] < 10
    assert found[10] < 10
    assert found[1_000] > 90
    assert found[10_000] > 90


@pytest.mark.parametrize("costs", [COLUMNS_ARE_FASTER, ((1e-4, 1 * US), (1e-3, 100 * US))])
def test_trials_take_little_time(costs: tuple[tuple[float, float], tuple[float, float]]) -> None:
    """The other form may be a hundred times as slow: what a trial costs is saved up before."""
    task = Task(*costs)
    task.share(1_000, 5_000)
    assert task.spent[False] < 0.05 * task.spent[True]


def test_without_measuring_the_size_decides() -> None:
    choice = FormChoice(10)
    for _ in range(100):
        choice.begin()
        assert choice.takes_columns(10)
        assert not choice.takes_columns(9)
        choice.end(10, tried_columns=True)


def test_costs_are_a_line() -> None:
    cost = FormCost()
    for number in range(200):
        records = (10, 1_000)[number % 2]
        cost.add(records, 1e-3 + records * 5 * US)
    assert cost.of(10) == pytest.approx(1e-3 + 50 * US, rel=0.01)
    assert cost.of(100_000) == pytest.approx(1e-3 + 0.5, rel=0.01)


def test_a_cost_is_never_negative() -> None:
    """Larger batches may have cost less, by chance."""
    cost = FormCost()
    for records, seconds in ((10, 9e-3), (1_000, 1e-3)) * 20:
        cost.add(records, seconds)
    assert cost.of(1) >= 0
    assert cost.of(1_000_000) >= 0
