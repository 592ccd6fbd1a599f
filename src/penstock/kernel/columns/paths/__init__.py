"""What happens where several paths of a task meet: they take turns, or are put in order."""
