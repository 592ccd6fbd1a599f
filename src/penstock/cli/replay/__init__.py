"""``penstock capture`` and ``penstock diff``: real records, run again against a program."""
