"""What a new version of the program would do to the state of the running one."""
