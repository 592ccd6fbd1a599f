"""Tests of SQL without Kafka and Spark: files of statements, input and expected output."""
