"""Stores of waiting records: for ``suppress``, and for joins."""
