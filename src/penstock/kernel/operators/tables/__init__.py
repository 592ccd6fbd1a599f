"""Executors from table to table, and the store of a table behind one face."""
