"""The state of an application as figures: samples of it, rates, and what they mean in words."""
