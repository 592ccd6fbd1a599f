"""``penstock init``: a new project, with a program, its tests, a SQL script and a Makefile."""
