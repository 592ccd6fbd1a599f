"""Measurements: throughput, latency, profiles, and the engine that the peers' bench starts.

The peers are Java Kafka Streams, PySpark and Quix. Their bench is not part of this repository.
"""
