"""Processors that users write, and the stores that only processors use."""
