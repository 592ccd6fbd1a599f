"""The process of a stream thread: where it runs, what it prints, and how it shows that it lives."""
