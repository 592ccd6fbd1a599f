"""Runs a topology on Spark against Kafka: the only folder that imports pyspark.

How a batch goes: ``docs/decisions`` has the reasons. The driver's side is ``streams`` and
``driver``; the workers' side is ``slot`` and what it calls.
"""
