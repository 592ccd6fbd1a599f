"""Expressions over records: read like pandas or polars, usable wherever a function is.

``col("amount") > 50`` is a function of key and value that also knows its own structure, so that a
planner can run it over columns.
"""
