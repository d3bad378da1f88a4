#!/usr/bin/env bash
# PrairieLearn runs this in a container for each submission.
# A job without results, or one that PrairieLearn stops, counts as 0 there. So results that say "not gradable", which
# cost a student nothing, stand there from the start, and this script stops itself before PrairieLearn's timeout.
set -u
grade="${GRADE:-/grade}"
python="${LAB_PYTHON:-/lab/.venv/bin/python}"
limit="${LAB_SECONDS:-570}"
results="$grade/results/results.json"

mkdir -p "$grade/results"
message="The grader could not finish. That is not your fault, and no attempt was used: submit again, or tell your instructor."
printf '{"gradable": false, "format_errors": ["%s"]}\n' "$message" >"$results"
chmod 700 "$grade/serverFilesCourse" "$grade/student" "$grade/results" # what a submission's own user may not enter
out="$(mktemp -d)"
cd "$grade/serverFilesCourse/preference_lab" || exit 3
# shellcheck disable=SC2046  # one word each
timeout --kill-after=10 "$limit" "$python" -m harness grade --tree "$grade/student" --out "$out" $(cat grade-options)
status=$?
if [ -f "$out/prairielearn.json" ]; then
    mv "$out/prairielearn.json" "$results"
    exit 0
fi
echo "No results: the grader ended with status $status."
exit 3
