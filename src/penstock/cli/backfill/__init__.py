"""``penstock backfill``."""
