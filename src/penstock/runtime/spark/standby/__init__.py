"""Standbys on executors: copies of a slot's stores where the slot does not run."""
