"""What a processor may see and ask for."""

from typing import Any

import pytest

from penstock.errors import InvalidArgumentError, UnknownStoreError, UnsupportedOperationError
from penstock.kernel.context import NodeContext
from penstock.model.record import Record, RecordMetadata
from penstock.model.task_id import TaskId
from penstock.processor.context import PunctuationType
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import Process
from tests.unit.kernel.single_node import SingleNode

SPECS = [StoreSpec(name=name, kind=StoreKind.KEY_VALUE) for name in ("mine", "theirs", "global")]


def start(**options: Any) -> tuple[SingleNode, NodeContext]:
    node = Process(name="n", supplier=lambda: _Idle(), stores=("mine",), site="app.py:3")
    task = SingleNode(node, *SPECS, global_stores=("global",), **options)
    return task, NodeContext(task.executor)


class _Idle:
    def init(self, context: Any) -> None:
        """Wants nothing."""

    def process(self, record: Any) -> None:
        """Does nothing."""


def test_a_connected_store_is_handed_out_as_it_is() -> None:
    """No copy and no wrapper: a store is used once per record."""
    task, context = start()
    assert context.get_state_store("mine") is task.stores["mine"]


def test_a_store_that_is_not_connected_is_out_of_reach() -> None:
    """The error says what is connected, what to do, and where the processor was made."""
    _, context = start()
    with pytest.raises(UnknownStoreError) as caught:
        context.get_state_store("theirs")
    assert caught.value.message == (
        "processor 'n' has no access to state store 'theirs'; connected are: 'mine'"
    )
    assert "process(supplier, 'theirs')" in (caught.value.fix or "")
    assert caught.value.at == "app.py:3"


def test_a_misspelt_store_name_is_corrected() -> None:
    """The nearest connected name is most likely what was meant."""
    _, context = start()
    with pytest.raises(UnknownStoreError, match="did you mean 'mine'"):
        context.get_state_store("mien")


def test_a_global_store_needs_no_connection_and_takes_no_writes() -> None:
    """Every task reads it; only its own topic changes it."""
    task, context = start()
    task.stores["global"].put("k", "v")
    store = context.get_state_store("global")
    assert (store.get("k"), store["k"], "k" in store, list(store)) == ("v", "v", True, ["k"])
    assert store.name == "global"
    for write in (
        lambda: store.put("k", "w"),
        lambda: store.delete("k"),
        lambda: store.__setitem__("k", "w"),
        lambda: store.__delitem__("k"),
    ):
        with pytest.raises(UnsupportedOperationError, match="'global' is read-only"):
            write()
    assert task.stores["global"].get("k") == "v"


def test_the_position_is_that_of_the_record_in_process() -> None:
    """It changes with each record."""
    task, context = start()
    task.pipe("k", "v", 7)
    task.pipe("k", "v", 5)
    assert context.record_metadata == RecordMetadata("in", 3, 1)
    assert context.current_stream_time_ms() == 7


def test_the_context_knows_application_task_clock_and_settings() -> None:
    """Settings cannot be changed through it; a prefix is cut off."""
    task, context = start(configs={"my.a": 1, "my.b": 2, "other": 3})
    task.now = 42
    assert (context.application_id, context.task_id) == ("app", TaskId(0, 3))
    assert context.current_system_time_ms() == 42
    assert context.app_configs_with_prefix("my.") == {"a": 1, "b": 2}
    assert context.app_configs()["other"] == 3
    assert not hasattr(context.app_configs(), "update")
    assert context.state_dir is None


def test_commit_is_a_request() -> None:
    """The task commits between records."""
    task, context = start()
    context.commit()
    assert task.commit_requested


@pytest.mark.parametrize("interval", [0, -5, "0s"])
def test_an_interval_below_a_millisecond_is_refused(interval: Any) -> None:
    """It would fire forever."""
    _, context = start()
    with pytest.raises(InvalidArgumentError, match="shorter than 1 ms"):
        context.schedule(interval, PunctuationType.STREAM_TIME, lambda time: None)


def test_a_table_transformer_cannot_forward() -> None:
    """It gives one value per row; what it forwards would go past the table."""
    _, context = start()
    with pytest.raises(UnsupportedOperationError, match="cannot forward"):
        context.forward(Record("k", "v", 0))
