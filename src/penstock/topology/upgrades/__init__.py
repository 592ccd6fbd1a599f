"""Compares a plan with the plan that its state was made by, and decides what can continue."""
