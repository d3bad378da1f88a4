"""Run the demos:  python -m PACKAGE [DEMO ...] [--plot DIR],  where PACKAGE is the folder this file lies in."""

# given
import argparse
import gc
import importlib
import os
import sys
from pathlib import Path
from typing import NamedTuple

# On vectors this short a second thread only costs time; it has to be said before NumPy and torch are loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")


class Demo(NamedTuple):
    """Where a demo lies, and what it shows."""

    module: str
    about: str


DEMOS = {
    "closed_form": Demo("closed_form", "the optimum of the RLHF objective, from a small to a large beta"),
    "policy_gradient": Demo("policy_gradient", "policy gradient finds that optimum from samples"),
    "dpo": Demo("dpo", "DPO finds it from preference pairs alone"),
    "implicit_reward": Demo("dpo", "the reward that a DPO policy carries inside"),
    "dpo_trap": Demo("dpo", "noise-free preferences, which no beta can hold"),
    "overoptimization": Demo("overoptimization", "best-of-n by an imperfect reward model"),
    "online_collection": Demo("online_collection", "where to collect preferences, and which"),
}
HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen demos (all of them by default); return the exit status."""
    parser = argparse.ArgumentParser(prog=f"python -m {HERE.name}", description="Run the demos of the lecture.")
    parser.add_argument("demos", nargs="*", metavar="DEMO", help=f"one or more of: {', '.join(DEMOS)}; all without it")
    parser.add_argument("--plot", type=Path, metavar="DIR", help="also save a figure for each demo in this folder")
    parser.add_argument("--list", action="store_true", help="list the demos and stop")
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        # A console that lacks a letter such as β shall show a question mark in its place.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    unknown = [name for name in options.demos if name not in DEMOS]
    if unknown:
        print(f"There is no demo named {', '.join(unknown)}. Choose from: {', '.join(DEMOS)}.", file=sys.stderr)
        return 2
    if options.list:
        for name, demo in DEMOS.items():
            print(f"{name:<18}{demo.about}")
        return 0
    for name in options.demos or DEMOS:
        try:
            module = importlib.import_module(f".{DEMOS[name].module}", __package__)
            getattr(module, f"demo_{name}")(options.plot)
        except NotImplementedError as error:
            missing = unwritten_function(error)
            if missing is None:
                raise
            print(f"Demo {name} needs {missing[0]}, which is still to be written in {missing[1]}.", file=sys.stderr)
            return 1
    return 0


def unwritten_function(error: NotImplementedError) -> tuple[str, str] | None:
    """Name and file of the function of this folder that raised the error; None if it was raised elsewhere."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return None
    code = traceback.tb_frame.f_code
    path = Path(code.co_filename).resolve()
    return (code.co_name, f"{HERE.name}/{path.name}") if path.parent == HERE else None


if __name__ == "__main__":
    gc.disable()  # loading torch makes no garbage, but looking for some on the way takes half a second
    sys.exit(main())
