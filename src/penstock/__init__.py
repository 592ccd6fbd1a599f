"""Kafka Streams and ksqlDB for Python, run by Spark."""

__version__ = "0.1.0.dev0"
