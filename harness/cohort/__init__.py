"""Grading a whole class. For instructors only. In the order of a submission's way through:

submissions   what a class handed in, from folders, archives and platforms (places, platforms)
roster        who is who
command       the verb `cohort`, and run, one run over a class
engine        scheduling on a Dask cluster; cluster, which is made or found
worker        what runs in a Dask worker, and frames, what it says to its grading process
grader        the grading process, which is kept warm; shape, a digest of a program
gradebook     every result and mark, in SQLite (database, keys); comparison, of two runs
exports       sheets for platforms, reports for students; gradebook_command, the verb `gradebook`
dashboard     the page of a class (tally, items, distribution)
"""
