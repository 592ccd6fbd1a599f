"""What a plan means to its state: fingerprints, what changed between two, and what may go on."""
