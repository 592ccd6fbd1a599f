"""Dates, durations and points in time."""
