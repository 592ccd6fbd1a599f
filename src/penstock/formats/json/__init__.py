"""JSON and JSON_SR: objects and their columns, one by one and whole columns at a time."""
