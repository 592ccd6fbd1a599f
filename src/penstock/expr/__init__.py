"""Expressions over records, in the style of pandas and polars, usable in place of functions.

``col("amount") > 50`` is a function of key and value. Its structure is known, so that the kernel
can also evaluate it over columns.
"""
