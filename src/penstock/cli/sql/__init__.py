"""``penstock sql``: run and test scripts."""
