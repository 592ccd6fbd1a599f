"""What users hold: the builder, streams, tables and their groupings. A method is one call."""
