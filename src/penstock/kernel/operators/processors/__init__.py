"""Executors of the processors that users write."""
