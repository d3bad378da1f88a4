"""The process boundary: a submission runs in a confined process, and only values come back.

In the order of a submission's way through:

    intake    the files of a submission, read once, as bytes
    wire      what travels between grader and child, and the reader that cannot be hurt
    client    the grader's end: one child for each fact, its calls, limits and end
    zygote    a process that holds the libraries and forks the children; it never reads anything of a submission
    child     the confined process: imports the submission from memory and answers calls
    confine   the layers that confine it, and what each needs
    probe     a small hostile submission that finds out what the layers really do here
"""
