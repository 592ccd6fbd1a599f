"""Operators that group and aggregate records, with and without windows."""
