"""Executors from table to table, and one interface for the stores of tables."""
