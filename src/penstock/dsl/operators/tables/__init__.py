"""Operators from table to table, and the way from a table to a stream."""
