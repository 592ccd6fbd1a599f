"""Functions on dates and times, with the patterns of Java."""
