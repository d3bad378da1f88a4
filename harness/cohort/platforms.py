r"""How platforms lay out what they export: whose a file is, by its name.

Canvas, "Download Submissions": one level of files, lib/content_zipper.rb of https://github.com/instructure/canvas-lms,
    nameinonelowercaseword[_LATE]_USER_FILE_original.py        or anon_XXXXX for the user; a group's name for a group
    nameinonelowercaseword[_LATE]_USER_text.html               what was typed into the page; _link.html: an address
with `-1`, ... `-7`, then a UUID behind the original name where the same student's folder held that name before (a
resubmission): app/models/attachment.rb, `make_unique_filename`. FILE grows with time.

Moodle, "Download all submissions" of an assignment, mod/assign/classes/downloader.php of
https://github.com/moodle/moodle: a folder for each student, or files that begin with its name,
    Full Name_PARTICIPANT_assignsubmission_file[_]/...         _onlinetext: what was typed into the page
A group stands for a student if groups submit; PARTICIPANT is missing for those in no group.

Gradescope, "Export Submissions", https://guides.gradescope.com/: `assignment_N_export/submission_M/...`, and
`submission_metadata.yml` beside the folders, a mapping by their names: `:submitters:`, each with `:name:`, `:sid:` and
`:email:`, then score, results and history.

GitHub Classroom, `gh classroom clone student-repos`, cmd/gh-classroom/clone/student-repos of
https://github.com/github/gh-classroom: `ASSIGNMENT-submissions/ASSIGNMENT-USER/`, each a clone.

Classroom 50, `gh teacher download`, cli/gh-teacher/internal/download of https://github.com/foundation50/classroom50:
`CLASSROOM-ASSIGNMENT_submissions_TIME/CLASSROOM-ASSIGNMENT-USER/`, each a clone, with `scores.csv` beside them.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import yaml

from harness.cohort.roster import Student
from harness.errors import UsageError

METADATA = "submission_metadata.yml"
CANVAS = re.compile(
    r"(?:(?P<name>.*?)_)??(?P<late>LATE_)?(?P<user>\d+|anon_[0-9A-Za-z]+)_"
    r"(?:(?P<file>\d+)_(?P<original>.+)|(?P<typed>(?:text|link)\.html))",
    re.DOTALL,
)
AGAIN = re.compile(
    r"-(?:\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=(?:\.[A-Za-z][A-Za-z0-9]*)*\.[A-Za-z0-9]+$)"
)
MOODLE_FOLDER = re.compile(r"(?P<who>.+?)_assignsubmission_[a-z0-9_]+", re.DOTALL)
MOODLE_FILE = re.compile(r"(?P<who>.+?)_assignsubmission_[a-z0-9]+_(?P<original>.+)", re.DOTALL)
MOODLE_WHO = re.compile(r".*_(?P<participant>\d+)", re.DOTALL)
CLASSROOM = re.compile(r"(?P<assignment>.+)(?:-submissions|_submissions_[0-9T_]+)", re.DOTALL)


class Part(NamedTuple):
    """A file or folder of one submission.

    label: of the submission. original: what its author called it; nothing for a folder or archive of their files.
    age: of two files of one name, that with the larger counts. author: as far as the platform's name for it tells.
    """

    label: str
    original: str
    age: int
    author: Student


def canvas(name: str) -> Part | None:
    """Whose a file of a Canvas download is."""
    match = CANVAS.fullmatch(name)
    if match is None:
        return None
    user = match["user"]
    label = f"{match['name']}_{user}" if match["name"] else user
    original = match["typed"] or AGAIN.sub("", match["original"])
    author = Student(canvas=user) if user.isdecimal() else Student()
    return Part(label, original, int(match["file"] or 0), author)


def moodle(name: str, is_folder: bool) -> Part | None:
    """Whose a folder or file of a Moodle download is."""
    match = (MOODLE_FOLDER if is_folder else MOODLE_FILE).fullmatch(name)
    if match is None:
        return None
    numbered = MOODLE_WHO.fullmatch(match["who"])
    # what the column "Identifier" of Moodle's grading worksheet says
    author = Student(number=f"Participant {numbered['participant']}") if numbered else Student()
    return Part(match["who"], "" if is_folder else match["original"], 0, author)


def classroom(folder: str, repository: str) -> Student:
    """The owner of a repository in a folder of clones, if the folder's name says which assignment they are of."""
    match = CLASSROOM.fullmatch(folder)
    prefix = f"{match['assignment']}-".lower() if match else ""
    if not match or not repository.lower().startswith(prefix) or len(repository) == len(prefix):
        return Student()
    return Student(login=repository[len(prefix) :])


def gradescope(metadata: bytes) -> dict[str, tuple[Student, ...]]:
    """The authors of each submission of an export, with number and e-mail; their names are not taken.

    Read as a stream of events, as an export also holds every line that an autograder wrote: for 1,000 students with
    205 tests each, 26 MB, it takes 4 s, and 32 s as objects. Raises UsageError when it is not YAML.
    """
    authors: dict[str, dict[str, dict[str, str]]] = {}
    try:
        for path, value in _nodes(metadata):
            of = authors.setdefault(path[0], {})
            if len(path) == 4 and path[1] == ":submitters":
                of.setdefault(path[2], {})[path[3]] = value
    except yaml.YAMLError as error:
        where = f"line {error.problem_mark.line + 1}" if getattr(error, "problem_mark", None) else "its encoding"
        raise UsageError(
            f"{METADATA}: not YAML ({where}); export the submissions again, or take this file away: they are graded "
            "without it, and a roster says whose they are"
        ) from None
    return {
        name: tuple(Student(number=each.get(":sid", ""), email=each.get(":email", "")) for each in of.values())
        for name, of in authors.items()
    }


class _Open:
    """A collection that is being read: how many nodes of it are complete, and the key that came last."""

    def __init__(self, is_mapping: bool) -> None:
        self.is_mapping = is_mapping
        self.complete = 0
        self.key = ""


def _nodes(document: bytes) -> Iterator[tuple[list[str], str]]:
    """Each node of a YAML document but the outermost: the keys and indices that lead to it, and what a scalar says."""
    around: list[_Open] = []
    for event in yaml.parse(document, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            around.append(_Open(isinstance(event, yaml.MappingStartEvent)))
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            around.pop()
        elif not isinstance(event, yaml.NodeEvent):
            continue
        if around:
            value = event.value if isinstance(event, yaml.ScalarEvent) else ""
            within = around[-1]
            if within.is_mapping and within.complete % 2 == 0:
                within.key = value
            else:
                yield [each.key if each.is_mapping else str(each.complete) for each in around], value
            within.complete += 1
