"""What a class handed in: the layouts of folders, archives and platforms, and what must not stop or leave a class."""

import gzip
import io
import os
import tarfile
import tracemalloc
import unicodedata
import zipfile
from pathlib import Path

import pytest

from harness.cohort import places
from harness.cohort.roster import Student
from harness.cohort.submissions import Handed, found
from harness.errors import Unreadable, UsageError
from harness.sandbox import intake
from harness.sandbox.intake import Taken

MODULES = {"dpo", "laplace"}
GIVEN = {"world": b"given"}
LINKS = pytest.mark.skipif(os.name == "nt", reason="links need rights there")


def folder(top: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return top


def zipped(files: dict[str, bytes]) -> bytes:
    """A name that ends in a slash is a folder."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def tarred(files: dict[str, bytes], compressed: bool = True) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if compressed else "w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name.rstrip("/"))
            info.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def laid_out(tmp_path: Path, files: dict[str, bytes], kind: str) -> Path:
    """A class as a folder or an archive of these files."""
    if kind == "folder":
        return folder(tmp_path / "class", files)
    path = tmp_path / f"class.{kind}"
    path.write_bytes(zipped(files) if kind == "zip" else tarred(files, compressed=kind == "tar.gz"))
    return path


def taken(one: Handed) -> Taken:
    return one.take(MODULES, GIVEN)


def own(one: Handed) -> dict[str, bytes]:
    """The sources of a submission but those that are given."""
    return {name: data for name, data in taken(one).sources.items() if name not in GIVEN}


def sources(path: Path) -> dict[str, dict[str, bytes]]:
    return {each.label: own(each) for each in found(path)}


def reason(one: Handed) -> str:
    with pytest.raises(Unreadable) as caught:
        taken(one)
    return str(caught.value)


ALL_KINDS = pytest.mark.parametrize("kind", ["folder", "zip", "tar.gz", "tar"])


@ALL_KINDS
@pytest.mark.parametrize("top", ["", "wrapper/", "a/b/"])
def test_folders_and_archives_of_students(tmp_path: Path, kind: str, top: str) -> None:
    files = {
        f"{top}bob/dpo.py": b"bob",
        f"{top}ada/lab/student/dpo.py": b"ada",
        f"{top}ada/lab/README.md": b"read me",
        f"{top}Cem.ZIP": zipped({"lab/dpo.py": b"cem"}),
        f"{top}dan.tar.gz": tarred({"dpo.py": b"dan"}),
        f"{top}__MACOSX/dpo.py": b"no",
        f"{top}.DS_Store": b"no",
        f"{top}roster.csv": b"who,is,who",
    }
    path = laid_out(tmp_path, files, kind)
    assert sources(path) == {name: {"dpo": name.lower().encode()} for name in ("Cem", "ada", "bob", "dan")}
    assert all(taken(each).name == "submission" and not each.problem and not each.authors for each in found(path))


@ALL_KINDS
def test_what_is_taken_is_what_grading_it_alone_takes(tmp_path: Path, kind: str) -> None:
    files = {"dpo.py": b"1", "helper.py": b"2", "world.py": b"own", "notes.txt": b"3", "laplace/__init__.py": b"4"}
    alone = intake.take(folder(tmp_path / "alone", files), MODULES, GIVEN)
    path = laid_out(tmp_path, {**{f"ada/{name}": data for name, data in files.items()}, "bob.zip": zipped(files)}, kind)
    for each in found(path):
        assert taken(each) == alone._replace(name="submission")
        assert taken(each).digest() == alone.digest()


@ALL_KINDS
def test_a_student_who_handed_in_nothing_is_listed(tmp_path: Path, kind: str) -> None:
    path = laid_out(tmp_path, {"ada/dpo.py": b"1", "bob/notes.txt": b"2"}, kind)
    if kind == "folder":
        (path / "cem").mkdir()
    elif kind == "zip":
        path.write_bytes(zipped({"ada/dpo.py": b"1", "bob/notes.txt": b"2", "cem/": b""}))
    else:
        path.write_bytes(tarred({"ada/dpo.py": b"1", "bob/notes.txt": b"2", "cem/": b""}, kind == "tar.gz"))
    ada, bob, cem = found(path)
    assert own(ada) == {"dpo": b"1"}
    assert reason(bob) == reason(cem) == "submission: none of the modules is there (dpo, laplace)"


@ALL_KINDS
def test_an_archive_that_is_broken_is_its_author_s_alone(tmp_path: Path, kind: str) -> None:
    encrypted = zipped({"dpo.py": b"1"}).replace(b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01")
    encrypted = encrypted.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")
    files = {
        "ada.zip": zipped({"dpo.py": b"1"}),
        "broken.zip": b"PK\x03\x04broken",
        "cut.tar.gz": tarred({"dpo.py": b"1" * 9_000})[:-20],
        "empty.zip": b"",
        "locked.zip": encrypted,
        "nested/broken.zip": b"not one",
        "rar.rar": b"Rar!",
        "seven.tar.zst": b"x",
        "void.zip": zipped({}),
    }
    ada, broken, cut, empty, locked, nested, rar, seven, void = found(laid_out(tmp_path, files, kind))
    assert own(ada) == {"dpo": b"1"}
    assert "readable .zip or .tar.gz" in reason(broken)
    assert "readable .zip or .tar.gz" in reason(empty)
    assert "readable .zip or .tar.gz" in reason(cut)
    assert "dpo.py: encrypted" in reason(locked)
    assert reason(nested).startswith("submission: broken.zip: neither")
    assert rar.problem in reason(rar)
    assert ".tar.zst" in seven.problem
    assert "none of the modules is there" in reason(void)


def test_an_archive_in_a_submission_is_opened_only_where_no_module_stands_beside_it(tmp_path: Path) -> None:
    old = zipped({"dpo.py": b"old", "laplace.py": b"old"})
    deep = zipped({"in.zip": zipped({"dpo.py": b"deep"})})
    files = {
        "ada/lab.zip": zipped({"lab/dpo.py": b"ada"}),
        "bob/backup.zip": old,
        "bob/dpo.py": b"bob",
        "cem/broken.zip": b"PK",
        "cem/lab.zip": zipped({"dpo.py": b"cem"}),
        "dan/out.zip": deep,
    }
    ada, bob, cem, dan = found(folder(tmp_path, files))
    assert (own(ada), own(bob), own(cem)) == ({"dpo": b"ada"}, {"dpo": b"bob"}, {"dpo": b"cem"})
    assert "none of the modules" in reason(dan)


CANVAS = {
    "lovelaceada_101_9001_dpo.py": b"ada",
    "lovelaceada_101_9003_laplace-2.py": b"new",
    "lovelaceada_101_9002_laplace.py": b"old",
    "obrienconnor_LATE_102_9010_my_1_2_lab-1.tar.gz": tarred({"student/dpo.py": b"connor"}),
    "李小龙_103_9011_dpo-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f.py": b"li",
    "typed_104_text.html": b"<p>see my mail</p>",
    "anon_XyZ12_9012_dpo.py": b"anonymous",
    "LATE_anon_AbCdE_9013_dpo.py": b"late",
}


@ALL_KINDS
@pytest.mark.parametrize("top", ["", "submissions/"])
def test_canvas(tmp_path: Path, kind: str, top: str) -> None:
    path = laid_out(tmp_path, {f"{top}{name}": data for name, data in CANVAS.items()}, kind)
    handed = {each.label: each for each in found(path)}
    assert list(handed) == [
        "anon_AbCdE",
        "anon_XyZ12",
        "lovelaceada_101",
        "obrienconnor_102",
        "typed_104",
        "李小龙_103",
    ]
    assert own(handed["lovelaceada_101"]) == {"dpo": b"ada", "laplace": b"new"}
    assert own(handed["obrienconnor_102"]) == {"dpo": b"connor"}
    assert own(handed["李小龙_103"]) == {"dpo": b"li"}
    assert own(handed["anon_AbCdE"]) == {"dpo": b"late"}
    assert "none of the modules" in reason(handed["typed_104"])
    assert handed["obrienconnor_102"].authors == (Student(canvas="102"),)
    assert handed["anon_XyZ12"].authors == ()


def test_files_beside_a_canvas_download_are_not_taken_for_it(tmp_path: Path) -> None:
    path = folder(tmp_path, {**CANVAS, "bob.zip": zipped({"dpo.py": b"bob"}), "rename.py": b"mine", "grades.csv": b""})
    assert own({each.label: each for each in found(path)}["bob"]) == {"dpo": b"bob"}
    assert len(found(path)) == 7


def test_names_like_those_of_canvas_do_not_make_a_canvas_download(tmp_path: Path) -> None:
    files = {f"team_1_{n}_lab.zip": zipped({"dpo.py": b"%d" % n}) for n in (1, 2)}
    folders = {f"student{n}/dpo.py": b"" for n in range(3)}
    assert {"team_1_1_lab", "team_1_2_lab"} < set(sources(folder(tmp_path, {**files, **folders})))


@ALL_KINDS
@pytest.mark.parametrize("layout", ["folders", "old folders", "flat"])
def test_moodle(tmp_path: Path, kind: str, layout: str) -> None:
    end = {"folders": "/", "old folders": "_/", "flat": "_"}[layout]
    files = {
        f"Ada Lovelace_201_assignsubmission_file{end}dpo.py": b"ada",
        f"Ada Lovelace_201_assignsubmission_onlinetext{end}onlinetext.html": b"<p>hello</p>",
        f"Bob van den Berg_202_assignsubmission_file{end}lab_3.zip": zipped({"x/dpo.py": b"bob"}),
        f"Teilnehmer_in_203_assignsubmission_file{end}dpo.py": b"blind",
        f"Default group_assignsubmission_file{end}dpo.py": b"group",
    }
    if layout != "flat":
        files[f"Zoë_204_assignsubmission_file{end}deep/er/dpo.py"] = "zoë".encode()
    handed = {each.label: each for each in found(laid_out(tmp_path, files, kind))}
    assert own(handed["Ada Lovelace_201"]) == {"dpo": b"ada"}
    assert own(handed["Bob van den Berg_202"]) == {"dpo": b"bob"}
    assert own(handed["Default group"]) == {"dpo": b"group"}
    assert handed["Ada Lovelace_201"].authors == (Student(number="Participant 201"),)
    assert handed["Teilnehmer_in_203"].authors == (Student(number="Participant 203"),)
    assert handed["Default group"].authors == ()
    assert len(handed) == (4 if layout == "flat" else 5)


METADATA = """---
submission_11:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0007'
    :email: ada@example.org
  :created_at: 2026-10-01 10:00:00.000000000 Z
  :score: 3.0
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    tests:
    - name: ":submitters:"
      output: "a line\\n- :sid: '1'"
  :history:
  - :id: 10
submission_12:
  :submitters:
  - :name: Bob
    :sid: ''
    :email: bob@example.org
  - :name: Cem
    :sid: 9
    :email:
submission_13:
  :submitters: []
submission_15:
  :submitters:
  - :name: Nothing
    :sid: '15'
    :email: none@example.org
"""


@ALL_KINDS
@pytest.mark.parametrize("top", ["", "assignment_4_export/"])
def test_gradescope(tmp_path: Path, kind: str, top: str) -> None:
    files = {
        f"{top}submission_metadata.yml": METADATA.encode(),
        f"{top}submission_11/dpo.py": b"ada",
        f"{top}submission_12/lab/dpo.py": b"bob",
        f"{top}submission_13/dpo.py": b"13",
        f"{top}submission_14/dpo.py": b"14",
    }
    handed = {each.label: each for each in found(laid_out(tmp_path, files, kind))}
    assert list(handed) == [f"submission_{n}" for n in (11, 12, 13, 14, 15)]
    assert handed["submission_11"].authors == (Student(number="0007", email="ada@example.org"),)
    assert handed["submission_12"].authors == (Student(email="bob@example.org"), Student(number="9"))
    assert handed["submission_13"].authors == handed["submission_14"].authors == ()
    assert own(handed["submission_12"]) == {"dpo": b"bob"}
    assert handed["submission_15"].problem == "the export holds no file of it"
    assert "no file" in reason(handed["submission_15"])
    assert not any("Ada" in repr(each) or "Bob" in repr(each) for each in handed.values())


@pytest.mark.parametrize("text", ["submission_1:\n\t- broken", "a: [1, 2", "\x00", "a: 'b", "? [a, b]\n: c"])
def test_metadata_that_are_broken_are_named_and_nothing_is_guessed(tmp_path: Path, text: str) -> None:
    path = folder(tmp_path, {"submission_metadata.yml": text.encode(), "submission_1/dpo.py": b""})
    try:
        labels = [each.label for each in found(path)]
    except UsageError as error:
        assert "submission_metadata.yml: not YAML" in str(error)
    else:
        assert "submission_1" in labels


@pytest.mark.parametrize(
    ("top", "prefix"),
    [("rlhf-submissions", "rlhf-"), ("ml-rlhf_submissions_2026_12_01_T_10_00_00", "ml-rlhf-"), ("mine", "")],
)
def test_clones_of_a_classroom(tmp_path: Path, top: str, prefix: str) -> None:
    repository = {
        ".git/HEAD": b"ref",
        ".git/dpo.py": b"no",
        "student/dpo.py": b"1",
        "noxfile.py": b"",
        "README.md": b"",
    }
    files = {f"{prefix}{user}/{name}": data for user in ("ada-l", "bob") for name, data in repository.items()}
    path = folder(tmp_path / top, {**files, "scores.csv": b"username,email"})
    ada = found(path)[0]
    assert (ada.label, own(ada)) == (f"{prefix}ada-l", {"dpo": b"1"})
    assert ada.authors == ((Student(login="ada-l"),) if prefix else ())
    (tmp_path / top / f"{prefix}bob").rename(tmp_path / "bob")
    assert [each.label for each in found(path)] == [f"{prefix}ada-l"], "a class of one clone is not entered"
    assert found(tmp_path)[0].label == "bob"


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"dpo.py": b"", "laplace.py": b""}, "folder"),
        ({"dpo.py": b"", "figures/a.png": b""}, "zip"),
        ({"lab/dpo.py": b""}, "zip"),
        ({"lab/dpo.py": b""}, "tar.gz"),
        ({"student/dpo.py": b"", "checks/check_dpo.py": b"", "noxfile.py": b"", "README.md": b""}, "folder"),
        ({"student/dpo.py": b"", "docs/a.md": b"", "pyproject.toml": b""}, "zip"),
    ],
)
def test_one_submission_instead_of_a_class_is_refused(tmp_path: Path, files: dict[str, bytes], kind: str) -> None:
    path = laid_out(tmp_path, files, kind)
    with pytest.raises(UsageError, match=r"one submission, as .* stands in it; .* nox -s grade -- --tree"):
        found(path)


@pytest.mark.parametrize("kind", ["folder", "zip", "tar", "tar.gz"])
def test_what_holds_no_class_is_named(tmp_path: Path, kind: str) -> None:
    with pytest.raises(UsageError, match="no such folder or archive"):
        found(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no submissions there"):
        found(laid_out(tmp_path, {"roster.csv": b"", ".hidden/dpo.py": b""}, kind))


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x03\x04broken", b"\x1f\x8bbroken", tarred({"a/dpo.py": b"1" * 9_000})[:-30]],
    ids=["empty", "zip", "tar.gz", "cut short"],  # gzip writes the time, and each worker has to find the same names
)
def test_a_class_that_cannot_be_read_is_nobody_s_zero(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "class.zip"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"class\.zip: cannot be read") as caught:
        found(path)
    assert not isinstance(caught.value, Unreadable)


@LINKS
def test_links_and_pipes_are_not_followed_and_cost_nobody_a_mark(tmp_path: Path) -> None:
    secret = folder(tmp_path / "secret", {"dpo.py": b"secret"})
    path = folder(tmp_path / "class", {"ada/dpo.py": b"ada", "bob/dpo.py": b"bob"})
    (path / "linked").symlink_to(secret)
    (path / "gone.zip").symlink_to("nowhere")
    (path / "ada" / "laplace.py").symlink_to(secret / "dpo.py")
    os.mkfifo(path / "pipe")
    os.mkfifo(path / "pipe.zip")
    os.mkfifo(path / "bob" / "laplace.py")
    handed = {each.label: each for each in found(path)}
    assert set(handed) == {"ada", "bob", "gone", "linked", "pipe", "pipe.zip"}
    assert own(handed["ada"]) == {"dpo": b"ada"}
    assert own(handed["bob"]) == {"dpo": b"bob"}
    for label in set(handed) - {"ada", "bob"}:
        with pytest.raises(UsageError, match="link or a device") as caught:
            taken(handed[label])
        assert not isinstance(caught.value, Unreadable)


def test_a_folder_that_may_not_be_read_costs_nobody_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path / "class", {"ada/dpo.py": b"", "Bob B/dpo.py": b""})
    handed = found(path)
    scandir = os.scandir

    def refused(path: Path) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refused)
    for each in handed:
        with pytest.raises(UsageError, match=r"cannot be read \(Permission denied\)") as caught:
            taken(each)
        assert not isinstance(caught.value, Unreadable)
        assert each.label not in str(caught.value)
    with pytest.raises(UsageError, match="Permission denied"):
        found(path)
    monkeypatch.setattr(os, "scandir", scandir)
    assert own(handed[0]) == {"dpo": b""}


def test_a_file_that_cannot_be_read_here_costs_nobody_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails, rights that were lost, a class's archive that is damaged: a fault, and no zero."""
    files = {"ada/dpo.py": b"x" * 1_000, "bob.zip": zipped({"dpo.py": b""})}
    on_disk, packed = folder(tmp_path / "class", files), tmp_path / "class.zip"
    packed.write_bytes(zipped(files))
    handed = [*found(on_disk), *found(packed)]
    damaged = bytearray(packed.read_bytes())
    damaged[45:50] = b"?????"
    packed.write_bytes(damaged)

    def refused(path: object, *_: object) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refused)
    for each in handed[:3]:
        with pytest.raises(UsageError, match="cannot be read here") as caught:
            taken(each)
        assert not isinstance(caught.value, Unreadable)
        assert str(tmp_path) not in str(caught.value)


@ALL_KINDS
def test_labels_are_printable_and_of_one_line_and_unique(tmp_path: Path, kind: str) -> None:
    names = [
        "ada",
        "ADA",
        "e\u0301va",
        "\u00e9va",
        "evil\x1b[2J\u202e\nname",
        " ",
        "ada.zip",
        "x" * 200,
        "dup",
        "dup.zip",
    ]
    files = {(f"{name}" if name.endswith(".zip") else f"{name}/dpo.py"): zipped({"dpo.py": b""}) for name in names}
    labels = [each.label for each in found(laid_out(tmp_path, files, kind))]
    assert len({label.casefold() for label in labels}) == len(names)
    assert all(label.isprintable() and label == unicodedata.normalize("NFC", label) for label in labels)
    assert {"ADA", "ada (2)", "ada.zip", "dup", "dup.zip", "\u00e9va", "\u00e9va (2)", "(no name)"} <= set(labels)
    assert (
        labels
        == sorted(labels)
        == [each.label for each in found(tmp_path / f"class{'' if kind == 'folder' else '.' + kind}")]
    )


def test_paths_of_windows_and_names_of_macos_in_archives(tmp_path: Path) -> None:
    path = tmp_path / "class.zip"
    path.write_bytes(
        zipped({"class\\ada\\dpo.py": b"ada", "class\\bob\\lab\\dpo.py": b"bob", "..\\out\\dpo.py": b"no"})
    )
    assert sources(path) == {"ada": {"dpo": b"ada"}, "bob": {"dpo": b"bob"}}
    path.write_bytes(zipped_by_macos({"zoë/dpo.py": b"zo", "b/dpo.py": b""}))
    assert set(sources(path)) == {"zoë", "b"}


def zipped_by_macos(files: dict[str, bytes]) -> bytes:
    """A .zip with names in UTF-8 that does not say so."""
    data = zipped(files)
    for mark in (b"PK\x03\x04\x14\x00", b"PK\x01\x02\x14\x03\x14\x00"):
        data = data.replace(mark + b"\x00\x08", mark + b"\x00\x00")
    return data


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_nothing_is_written_beside_a_class_and_nothing_is_unpacked(tmp_path: Path, kind: str) -> None:
    path = laid_out(tmp_path, {"ada/dpo.py": b"1", "bob.zip": zipped({"dpo.py": b"2"})}, kind)
    before = sorted(tmp_path.rglob("*"))
    assert len(sources(path)) == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_bombs_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "ARCHIVE_LIMIT", 2_000_000)
    files = {
        "ada/a.zip": zipped({"data": os.urandom(1_200_000)}),
        "ada/b.zip": zipped({"data": os.urandom(1_200_000), "dpo.py": b"1"}),
        "bob.zip": zipped({"dpo.py": bytes(100_000_000)}),
        "cem.tar.gz": gzip.compress(tarred({"dpo.py": bytes(50_000_000)}, False)),
        "dan/large.zip": bytes(3_000_000),
    }
    ada, bob, cem, dan = found(folder(tmp_path, files))
    tracemalloc.start()
    try:
        assert "too large" in reason(ada)
        assert "larger than 1,000,000 bytes" in reason(bob)
        assert "larger than 1,000,000 bytes" in reason(cem)
        assert "too large" in reason(dan)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_class_has_limits_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    students = {f"student{n:03}/dpo.py": b"x" * 20_000 for n in range(60)}
    monkeypatch.setattr(intake, "ENTRY_LIMIT", 5)
    for kind in ("zip", "tar.gz"):
        assert len(sources(laid_out(tmp_path, students, kind))) == 60, "a submission's limit is not the class's"
    monkeypatch.setattr(places, "CLASS_ENTRY_LIMIT", 50)
    with pytest.raises(UsageError, match="more than 50 files"):
        found(tmp_path / "class.zip")
    monkeypatch.setattr(places, "CLASS_LIMIT", 1_000_000)
    with pytest.raises(UsageError, match="unpacks to more than 1,000,000 bytes"):
        found(tmp_path / "class.tar.gz")


@ALL_KINDS
def test_a_class_is_not_in_memory_at_once(tmp_path: Path, kind: str) -> None:
    """100 submissions of 0.9 MB, taken one after another and kept by nobody, and taken again."""
    students = {f"student{n:03}/dpo.py": b"%3d" % n * 300_000 for n in range(100)}
    path = laid_out(tmp_path, students, kind)
    students.clear()
    tracemalloc.start()
    try:
        handed = found(path)
        for each in (*handed, *reversed(handed)):
            assert own(each)["dpo"].endswith(b"%3d" % int(each.label[-3:]))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_an_encrypted_class_is_nobody_s_zero(tmp_path: Path) -> None:
    data = zipped({"ada/dpo.py": b"1"})
    for mark in (b"PK\x03\x04\x14\x00", b"PK\x01\x02\x14\x03\x14\x00"):
        data = data.replace(mark + b"\x00", mark + b"\x01")
    (tmp_path / "class.zip").write_bytes(data)
    with pytest.raises(UsageError, match="encrypted; unpack it"):
        found(tmp_path / "class.zip")


def test_names_stay_out_of_what_is_taken(tmp_path: Path) -> None:
    """No label, file of the platform or path of the grader: in what is graded, and in what is said of it."""
    broken = {"Ada Lovelace_201_assignsubmission_file/x.zip": b"PK", "Ada Lovelace_202_assignsubmission_file/y.py": b""}
    whole = {"Ada Lovelace_203_assignsubmission_file/dpo.py": b"", "Ada Lovelace_203_assignsubmission_file/b.txt": b""}
    for number, files in enumerate((broken, whole, {"ada lovelace.zip": b"PK", "ada lovelace 2.zip": zipped({})})):
        for each in found(folder(tmp_path / f"lovelace{number}", files)):
            try:
                said = repr(taken(each))
            except Unreadable as error:
                said = str(error)
            assert "lovelace" not in said.lower()
