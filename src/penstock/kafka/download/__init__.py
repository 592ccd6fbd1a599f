"""Download jars: from a list with checksums, or with Ivy where the user has settings for it."""
