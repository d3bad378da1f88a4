"""The facts: one file for each module of the trees. In the order of the lecture they are the course's mathematics."""
