"""The states of an instance, each a value with all that it needs, and the steps between them."""
