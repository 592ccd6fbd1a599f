"""Operators from table to table, and from table to stream."""
