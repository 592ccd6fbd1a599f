"""Scalar, table and aggregate functions, by family, and the decorators for functions of users."""
