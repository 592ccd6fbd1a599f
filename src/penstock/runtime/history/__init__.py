"""A topology over history: bounded inputs instead of topics, task by task. Knows no Spark."""
