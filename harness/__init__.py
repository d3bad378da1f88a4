"""Everything with no mathematics of the course in it: facts, inputs, tolerances, the run, the marks, the report.

A suite (a folder of `check_*.py` files) and a tree (a folder of the modules under test) are handed over by path;
nothing here imports either by name. In the order of a fact's way through:

    facts       what a fact is, and how a suite's facts are listed before any submission code runs
    inputs      Hypothesis strategies for inputs in general position
    tolerance   assertions that say what was got and what was expected
    statistics  designs of statistical facts: rates in, sample size and threshold out
    impl        the implementation under test, as a fact sees it
    evaluate    one fact on one implementation: the verdict
    plugin      the verdicts of a whole suite, through pytest and its workers
    grading     a run: manifest, verdicts, marks
    marks       from verdicts to points, in exact fractions
    result      the record of a run, and its file
    terminal    the report in a terminal
    stubs       the student tree from the reference
"""
