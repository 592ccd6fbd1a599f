"""Layers over the bytes of a store: record cache, changelog, metrics."""
