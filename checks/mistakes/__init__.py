"""Wrong answers that students and language models really write, each with a name that a student can be told.

They prove the facts: each must contradict at least one. They were written from what people get wrong, not chosen to be
caught. One module for each module of the trees.
"""
