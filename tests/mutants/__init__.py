"""Plants single faults in a copy of the package and asks the tests to notice them."""
