"""What the console of an SQL server asks beside statements: each query as an application."""
