"""Joins in a query: their two sides, the conditions of ON, and the key of the result."""
