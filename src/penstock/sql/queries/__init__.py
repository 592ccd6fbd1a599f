"""Queries that run: persistent, push and pull, on Spark or in this process."""
