"""What instructors hand out: the archive for students, and autograders to upload. Neither holds this package."""
