"""Values kept as columns instead of one by one."""
