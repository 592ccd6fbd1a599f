"""The kernel: one executor per node type, and the loop of a task.

It imports neither Spark nor a Kafka client, and it reads no clock.
"""
