"""Stores of a running application, as queries see them."""
