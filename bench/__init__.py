"""Measurements: latency, where the time goes, and the engine that the peers' bench starts."""
