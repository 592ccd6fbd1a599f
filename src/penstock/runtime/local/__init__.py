"""Runs a topology in this process, without Kafka, Spark or Java: what the test driver stands on."""
