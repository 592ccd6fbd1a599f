"""Records that repeat an earlier one, and records that are read again."""

from penstock.serde.serdes import Serdes
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import Deduplicate
from tests.unit.kernel.single_node import SingleNode

STORE = StoreSpec(
    name="store",
    kind=StoreKind.WINDOW,
    persistent=False,
    value_serde=Serdes.string(),
    window_size_ms=100,
    retention_ms=101,
)


def start() -> SingleNode:
    return SingleNode(Deduplicate(name="n", interval_ms=100, store="store"), STORE)


def read_again(node: SingleNode, offset: int) -> None:
    """A task that starts anew: the executor is another one, the store has what it had."""
    node.executor.init()
    node._offset = offset - 1


def test_record_that_is_read_again_is_forwarded_again() -> None:
    """The store may be ahead of the committed offsets: the first run's output may be missing."""
    node = start()
    node.pipe("k", "first", 0)
    node.pipe("k", "second", 50)
    read_again(node, offset=0)
    node.pipe("k", "first", 0)
    node.pipe("k", "second", 50)
    assert node.values() == ["first", "first"]
    assert node.drops == ["duplicate", "duplicate"]


def test_punctuations_have_no_offset_to_be_read_again() -> None:
    """What a punctuation forwards twice is a duplicate."""
    node = start()
    node.context.topic, node.context.offset = None, -1
    for _ in range(2):
        node.context.timestamp = 5
        node.executor.process("k", "v", 5, ())
    assert node.values() == ["v"]
    assert node.drops == ["duplicate"]


def test_what_is_older_than_the_interval_is_not_kept() -> None:
    """It could not be a first record of anything that is to come."""
    node = start()
    node.pipe("other", "v", 500)
    node.pipe("k", "v", 399)
    with node.stores["store"].all() as rows:
        assert [windowed.key for windowed, _ in rows] == ["other"]
