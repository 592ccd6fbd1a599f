"""Results of statements, as the JSON that ksqlDB's clients read."""
