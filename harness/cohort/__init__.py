"""Grading a whole class: what it handed in, the engine, the gradebook, the page of a class. For instructors only."""
