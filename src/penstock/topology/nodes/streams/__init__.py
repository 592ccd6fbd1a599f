"""Nodes that work on the records of a stream, one by one."""
