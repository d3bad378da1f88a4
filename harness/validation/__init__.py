"""The instructor's proof: the reference holds every fact, stubs hold none, mistakes die, right answers live.

command     the verb: what is typed, and what is written
prove       a run, normal or deep
plan        what it asks
cases       one answer to one function, asked in warm workers
matrix      which fact kills which mistake
rubbish     submissions that know nothing
mutants     the reference with one slip in it (mutations, guards: which slips)
calibration the statistical designs, by simulation
peers       the reference against other people's libraries
drift       docstrings against facts
record      what a deep run found, and what it is true of
proof       what was found of a course, and what of it falls short
tables      the same as rows
summary     the same in a terminal
page        the same as a page, `validate.html`
"""
