"""Watch a running program: tables that fit the terminal, and new runs after changes."""
