"""What a task tells of its nodes while it runs: how much they do, and the way of a record."""
