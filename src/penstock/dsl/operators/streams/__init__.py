"""Operators from stream to stream that process one record at a time."""
