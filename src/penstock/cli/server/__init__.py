"""``penstock server`` and its commands."""
