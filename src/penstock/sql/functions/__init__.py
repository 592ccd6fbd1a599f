"""Scalar, table and aggregate functions by family, and the decorators for users' functions."""
