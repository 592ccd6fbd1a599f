"""Bytes <-> values: Kafka's primitive formats, JSON, windowed keys, and a base for your own."""
