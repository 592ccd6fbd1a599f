"""Operators that read topics, write topics, or pass rows to Spark."""
