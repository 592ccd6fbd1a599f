"""Run a topology on Spark against Kafka. This is the only folder that imports pyspark.

``driver`` plans and commits batches, ``worker`` processes them, ``exchange`` has what travels
between the two, and ``replica`` keeps copies of stores. ``docs/decisions`` has the reasons.
"""
