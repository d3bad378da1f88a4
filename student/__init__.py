"""RLHF, DPO, best-of-n, over-optimisation and online preference collection, one module per topic."""
