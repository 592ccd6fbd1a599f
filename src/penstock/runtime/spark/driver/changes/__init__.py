"""What a changed plan means for records and clocks of the former plan."""
