"""Statements that neither create a source nor start a query."""
