"""Cases of the SQL language: statements, records in, records out."""
