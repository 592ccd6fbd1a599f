"""Folds of columns: counts, sums, and functions of the user."""
