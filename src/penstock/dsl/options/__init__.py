"""Options that users pass: names, serdes, stores, emission of windows, suppression."""
