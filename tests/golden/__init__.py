"""Texts that are promised. ``python -m tests.golden`` writes them anew; review the difference."""
