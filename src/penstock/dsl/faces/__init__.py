"""The classes of the DSL: the builder, streams, tables and their groupings.

Each method makes one call into the file of its operator.
"""
