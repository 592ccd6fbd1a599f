"""Stores as they were: after an earlier commit, between two commits, and one key over time."""
