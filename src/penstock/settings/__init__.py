"""Every setting, by what it is about. ``penstock.config`` has all of them."""
