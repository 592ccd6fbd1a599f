"""Dead letters: what failed and why, and sending it again."""
