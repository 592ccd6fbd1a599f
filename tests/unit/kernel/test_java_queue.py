"""Items leave the queue in the order in which Java's ``PriorityQueue`` lets them go."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.java_queue import JavaQueue

Item = tuple[int, str]


def queue(*items: Item) -> JavaQueue[Item]:
    made: JavaQueue[Item] = JavaQueue(lambda item: item[0])
    for item in items:
        made.offer(item)
    return made


def polled(of: JavaQueue[Item]) -> list[Item]:
    return [of.poll() for _ in range(len(of))]


def test_equal_items_leave_as_in_java() -> None:
    """The last item takes the place of the first, so that the third comes before the second."""
    assert "".join(name for _, name in polled(queue(*((1, name) for name in "abcde")))) == "aedcb"


def test_of_two_equal_children_the_left_one_moves_up() -> None:
    """After ``a`` has left, ``d`` sinks, and ``b`` is taken although ``c`` is equal."""
    names = [name for _, name in polled(queue((0, "a"), (1, "b"), (1, "c"), (2, "d")))]
    assert names == ["a", "b", "c", "d"]


def test_an_empty_queue_has_nothing_to_look_at() -> None:
    """A look leaves the item where it is."""
    empty, one = queue(), queue((1, "a"))
    assert (empty.peek(), len(empty)) == (None, 0)
    assert (one.peek(), len(one)) == ((1, "a"), 1)


@given(ranks=st.lists(st.integers(0, 5), max_size=20))
def test_smaller_items_leave_first(ranks: list[int]) -> None:
    """The ranks of what leaves are sorted, and nothing is lost."""
    items = [(rank, str(place)) for place, rank in enumerate(ranks)]
    found = polled(queue(*items))
    assert [rank for rank, _ in found] == sorted(ranks)
    assert sorted(found) == sorted(items)


@given(ranks=st.lists(st.integers(0, 3), max_size=20))
def test_what_is_taken_out_together_makes_the_same_queue_again(ranks: list[int]) -> None:
    """A task that is wired anew goes on in the same order, also among equal items."""
    items = [(rank, str(place)) for place, rank in enumerate(ranks)]
    old = queue(*items)
    taken = old.take_all()
    assert len(old) == 0
    assert polled(queue(*taken)) == polled(queue(*items))
