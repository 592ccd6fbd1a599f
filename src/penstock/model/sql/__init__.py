"""Types, places in the text, and errors of SQL."""
