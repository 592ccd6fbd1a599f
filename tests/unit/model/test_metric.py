"""A metric is found under its name, group and tags, in whatever order the tags were given."""

from penstock.model.metric import Metric


def test_the_order_of_tags_does_not_count() -> None:
    one = Metric("process-total", "stream-task-metrics", 1.0, {"task-id": "0_1", "thread-id": "t"})
    other = Metric("process-total", "stream-task-metrics", 2, {"thread-id": "t", "task-id": "0_1"})
    assert one.metric_name == other.metric_name
    assert one.metric_name != Metric("process-total", "stream-task-metrics", 1.0).metric_name
