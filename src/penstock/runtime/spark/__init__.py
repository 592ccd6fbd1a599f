"""Runs a topology on Spark against Kafka: the only folder that imports pyspark.

``driver`` plans and commits batches, ``worker`` processes them, ``exchange`` is what travels
between the two. ``docs/decisions`` has the reasons.
"""
