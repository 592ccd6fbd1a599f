"""Functions under the names that standard SQL, Flink and Postgres give them.

A function of a user may have any of these names: it takes the place of ours.
"""
