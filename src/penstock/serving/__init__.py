"""Answers questions about a running application over HTTP: stores, health, topology, metrics."""
