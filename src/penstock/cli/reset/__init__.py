"""``penstock reset``: start an application again from the beginning of its input."""
