#!/usr/bin/env bash
# Gradescope runs this once, as root, while it builds the autograder's image: a Python that the lab knows, and packages.
set -eu
source="${AUTOGRADER:-/autograder}/source"
lab="${LAB:-/opt/lab}" # not below source, which a submission's user may not enter

known_python() {
    local python
    for python in python3.14 python3.13 python3.12 python3.11 python3; do
        if "$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

if ! known_python >/dev/null; then
    apt-get update
    for version in 3.14 3.13 3.12 3.11; do # whichever the distribution has: Ubuntu 22.04 has 3.11, 24.04 has 3.12
        apt-get install -y --no-install-recommends "python$version" "python$version-venv" && break
    done
fi
mkdir -p "$lab"
cp "$source/noxfile.py" "$source/pyproject.toml" "$source/constraints.txt" "$lab"
"$(known_python)" "$lab/noxfile.py" # makes $lab/.venv, and lists the commands
chmod -R a+rX "$lab"
