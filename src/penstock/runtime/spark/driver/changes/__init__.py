"""A plan that changed or went: what is kept, what is left over, and what is deleted."""
