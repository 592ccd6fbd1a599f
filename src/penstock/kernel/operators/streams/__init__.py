"""Executors from stream to stream that take one record at a time."""
