"""Formats JSON and JSON_SR, row by row and over columns, and the JSON Schema serde of the DSL."""
