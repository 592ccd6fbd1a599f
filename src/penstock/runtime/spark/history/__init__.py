"""Topologies as transformations of DataFrames. What a task does: ``penstock.runtime.history``."""
