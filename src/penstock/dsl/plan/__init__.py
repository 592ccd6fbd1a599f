"""What a program asked for, as a logical graph, and the way from there to a topology."""
