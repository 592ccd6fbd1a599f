"""Connectors on the server: ksqlDB's entities about them, and the worker that goes with it."""
