"""The name of a partition: its topic and its number."""

from __future__ import annotations

#: The topic's name and the partition's number. Between stages of a batch, internal topics have
#: the name that they have in the graph, without the prefix of the application.
TopicPartition = tuple[str, int]
