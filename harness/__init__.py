"""Everything with no mathematics of the course in it: facts, inputs, the boundary, the run, the marks, the report.

A suite (a folder of `check_*.py` files) and a tree (a folder of the modules under test) are handed over by path;
nothing here imports either by name. In the order of a fact's way through:

    facts       what a fact is, and how a suite's facts are listed before any submission code runs
    inputs      Hypothesis strategies for inputs in general position
    tolerance   assertions that say what was got and what was expected
    statistics  designs of statistical facts: rates in, sample size and threshold out
    shared      objects of the grader's that facts hand to a submission
    impl        the implementation under test, as a fact sees it
    sandbox/    the process boundary: a submission's own, confined process
    execute     calls of a submission's functions, on its side of the boundary
    tree        a tree of modules, imported from memory
    source      what can be read off a source without running it
    local       calls made in this process, to debug and to validate
    evaluate    one fact on one implementation: the verdict, whose parts are plain data in verdict
    shown       values as a person reads them, got and expected side by side
    replay      a call as plain Python that makes it again
    probes      fixed questions to a function, and digests of its answers
    fingerprints   by what each mistake of a bank is recognised, and fingerprinting, which writes that file
    feedback    what the verdicts say together: named mistakes, failures that follow from another's
    constants   the numbers that Hypothesis tries on its own account
    asking      one submission behind its boundary, asked one fact after another
    options     what the verbs that grade have in common on the command line
    plan        what to grade: the facts, their points, the submission in memory; digest, of what decides the marks
    grading     a run: verdicts, marks, the record
    spread      the facts of a run asked under pytest, plugin, its workers' side, and workers, how many
    marks       from verdicts to points, in exact fractions
    curves      a submission's own curves beside the exact ones
    result      the record of a run, and its file
    terminal    the report in a terminal, and layout, its lines
    report/     the page, and the files of the platforms
    text        text that came from a submission, made harmless
    variants    other answers, wrong and right
    cohort/     a whole class, on one machine or many
    validation/ the instructor's proof
    stubs       the student tree from the reference
    publish/    the archive for students, and autograders to upload
    errors      whose fault an error is
"""
