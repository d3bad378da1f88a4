"""What is read of a submission, and what is left out and why."""

import contextlib
import gzip
import io
import os
import random
import stat
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import Unreadable, UsageError
from harness.sandbox import intake
from harness.sandbox.intake import shadowed, take

MODULES = {"dpo", "laplace"}
GIVEN = {"world": b"given"}


def folder(path: Path, **files: bytes) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (path / f"{name}.py").write_bytes(data)
    return path


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def test_modules_are_read_as_bytes_and_given_ones_replaced(tmp_path: Path) -> None:
    taken = take(folder(tmp_path / "work", dpo=b"\xff\x00", helper=b"h", world=b"own"), MODULES, GIVEN)
    assert taken.name == "work"
    assert taken.sources == {"dpo": b"\xff\x00", "helper": b"h", "world": b"given"}
    assert taken.left_out == {"world.py": "changed, but given: the course's own copy is used"}
    assert take(folder(tmp_path / "work", world=b"given"), MODULES, GIVEN).left_out == {}


@pytest.mark.parametrize("name", ["notes.txt", "conftest.so", "x.pyc", "a-b.py", "1.py", "\u00e9.py", "evil.pth"])
def test_other_files_are_left_out_with_a_reason(tmp_path: Path, name: str) -> None:
    (folder(tmp_path, dpo=b"") / name).write_bytes(b"x")
    assert take(tmp_path, MODULES, {}).left_out == {name: "not a Python module's name"}


def test_clutter_is_passed_over(tmp_path: Path) -> None:
    folder(tmp_path, dpo=b"")
    for name in ("__pycache__", "__MACOSX", ".ipynb_checkpoints", ".git"):
        folder(tmp_path / name, dpo=b"other")
    (tmp_path / ".DS_Store").write_bytes(b"x")
    assert take(tmp_path, MODULES, {}) == (tmp_path.name, {"dpo": b""}, {})


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"s")
    tree = folder(tmp_path / "tree", dpo=b"")
    (tree / "link.py").symlink_to(secret)
    (tree / "gone.py").symlink_to("nowhere")
    (tree / "to_folder.py").symlink_to(tmp_path)
    os.mkfifo(tree / "pipe.py")
    taken = take(tree, MODULES, {})
    assert taken.sources == {"dpo": b""}
    assert {taken.left_out[f"{name}.py"] for name in ("link", "gone", "pipe")} == {
        "not a regular file (a link or a device)"
    }


def test_limits_of_size_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = folder(tmp_path, dpo=b"x" * 10, huge=b"x" * (intake.FILE_LIMIT + 1))
    assert take(tree, MODULES, {}).left_out == {"huge.py": "larger than 1,000,000 bytes"}
    monkeypatch.setattr(intake, "COUNT_LIMIT", 3)
    taken = take(folder(tmp_path, a=b"", b=b"", c=b"", d=b""), MODULES, {})
    assert len(taken.sources) == 3
    monkeypatch.setattr(intake, "TOTAL_LIMIT", 5)
    assert "together" in take(folder(tmp_path / "one", dpo=b"x" * 6), MODULES, {}).left_out["dpo.py"]


def test_names_that_differ_only_in_case_are_one_file_on_some_systems(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"dpo.py": b"1", "DPO.py": b"2"})
    taken = take(path, MODULES, {})
    assert taken.sources == {"dpo": b"1"}
    assert "only in case" in taken.left_out["DPO.py"]


@pytest.mark.parametrize("prefix", ["", "student/", "a/b/lab/"])
def test_archives_are_read_in_memory_wherever_the_tree_lies(tmp_path: Path, prefix: str) -> None:
    files = {f"{prefix}dpo.py": b"1", f"{prefix}laplace.py": b"2", "__MACOSX/dpo.py": b"3", f"{prefix}.hidden": b"4"}
    before = sorted(tmp_path.rglob("*"))
    path = zipped(tmp_path / "a.zip", files)
    assert take(path, MODULES, {}).sources == {"dpo": b"1", "laplace": b"2"}
    packed = tmp_path / "a.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    assert take(packed, MODULES, {}).sources == {"dpo": b"1", "laplace": b"2"}
    assert sorted(tmp_path.rglob("*")) == sorted([*before, path, packed])


def test_the_folder_with_most_modules_is_the_submission(tmp_path: Path) -> None:
    folder(tmp_path / "old", dpo=b"old")
    folder(tmp_path / "new", dpo=b"new", laplace=b"new")
    assert take(tmp_path, MODULES, {}).sources == {"dpo": b"new", "laplace": b"new"}


def test_paths_that_lead_out_are_no_paths(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"dpo.py": b"1", "../laplace.py": b"2", "/etc/x.py": b"3", "..\\y.py": b"4"})
    taken = take(path, MODULES, {})
    assert taken.sources == {"dpo": b"1"}
    assert all("out of the archive" in reason for reason in taken.left_out.values())


def test_links_and_devices_in_archives_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        plain = tarfile.TarInfo("dpo.py")
        archive.addfile(plain, io.BytesIO())
        for kind, name in ((tarfile.SYMTYPE, "link.py"), (tarfile.LNKTYPE, "hard.py"), (tarfile.FIFOTYPE, "fifo.py")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    taken = take(path, MODULES, {})
    assert taken.sources == {"dpo": b""}
    assert set(taken.left_out) == {"link.py", "hard.py", "fifo.py"}
    link = zipfile.ZipInfo("laplace.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as zipped_archive:
        zipped_archive.writestr("dpo.py", b"")
        zipped_archive.writestr(link, b"/etc/passwd")
    assert take(tmp_path / "b.zip", MODULES, {}).left_out == {"laplace.py": "a link"}


@pytest.mark.parametrize("claimed", [True, False], ids=["honest size", "forged size"])
def test_a_bomb_is_unpacked_no_further_than_its_limit(tmp_path: Path, claimed: bool) -> None:
    path = zipped(tmp_path / "a.zip", {"dpo.py": b"1", "bomb.py": bytes(50_000_000)})
    if not claimed:
        data = path.read_bytes()
        path.write_bytes(data.replace((50_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    taken = take(path, MODULES, {})
    assert set(taken.sources) <= {"dpo", "bomb"}
    assert len(taken.sources.get("bomb", b"")) <= intake.FILE_LIMIT


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04broken", b"\x1f\x8bbroken", b"not an archive" * 100], ids=repr)
def test_what_is_no_archive_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"a\.zip"):
        take(path, MODULES, {})


def test_nothing_to_grade_is_an_error_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        take(tmp_path / "nowhere", MODULES, {})
    with pytest.raises(UsageError, match="none of the modules is there"):
        take(folder(tmp_path, other=b""), MODULES, {})


def test_names_of_libraries_are_reported() -> None:
    assert shadowed(["dpo", "numpy", "random", "helper", "torch"]) == ["numpy", "random", "torch"]


def repeated_header(kind: bytes, size: int, count: int) -> bytes:
    """A .tar.gz of `count` headers of one kind, each with `size` zeros behind it."""
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, size
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(count):
            file.write(info.tobuf(tarfile.USTAR_FORMAT) + bytes(-(-size // 512) * 512))
    return packed.getvalue()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME], ids=["pax", "long name"])
def test_a_tar_header_is_read_no_further_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: bytes
) -> None:
    monkeypatch.setattr(intake, "ARCHIVE_LIMIT", 2_000_000)
    path = tmp_path / "a.tar.gz"
    path.write_bytes(repeated_header(kind, size=100_000_000, count=1))
    tracemalloc.start()
    try:
        with pytest.raises(Unreadable):
            take(path, MODULES, {})
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_headers_about_headers_are_followed_no_deeper_than_python_can(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(repeated_header(tarfile.XHDTYPE, size=0, count=20_000))
    with pytest.raises(Unreadable, match=r"a\.tar\.gz"):
        take(path, MODULES, {})


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
@pytest.mark.parametrize("size", [-512, -(2**80), 2**80])
@pytest.mark.parametrize("name", [".x", "dpo.py"])
def test_a_size_that_a_tar_header_makes_up_leads_nowhere(tmp_path: Path, name: str, size: int, kind: bytes) -> None:
    # Of a negative size the header itself is what comes next, for ever; a huge one is no number that a file can seek.
    first, info = tarfile.TarInfo("first.txt"), tarfile.TarInfo(name)
    info.type, info.size = kind, size
    path = tmp_path / "a.tar"
    path.write_bytes(first.tobuf() + info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(Unreadable, match=r"a\.tar"):
        take(path, MODULES, {})


def test_a_folder_that_may_not_be_listed_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path / "work", dpo=b"")
    folder(tmp_path / "work" / "inner", laplace=b"")
    scandir = os.scandir

    def refused(path: str) -> object:
        if Path(path).name == "inner":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(UsageError, match=r"inner: cannot be read \(Permission denied\)") as caught:
        take(tmp_path / "work", MODULES, {})
    assert not isinstance(caught.value, Unreadable)


def test_a_large_file_behind_the_modules_does_not_cost_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "ARCHIVE_LIMIT", 1_000_000)
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, size in (("dpo.py", 1), ("data.bin", 5_000_000), ("laplace.py", 1)):
            info = tarfile.TarInfo(name)
            info.size = size
            archive.addfile(info, io.BytesIO(bytes(size)))
    assert set(take(path, MODULES, {}).sources) == {"dpo"}


def test_the_directory_of_a_zip_is_not_read_when_it_lists_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "DIRECTORY_LIMIT", 10)
    path = zipped(tmp_path / "a.zip", {"dpo.py": b"", **{f"{n}.txt": b"" for n in range(10)}})
    with pytest.raises(Unreadable, match="more than 10 files"):
        take(path, MODULES, {})


def test_an_entry_without_a_name_is_no_file(tmp_path: Path) -> None:
    nameless = zipfile.ZipInfo("name")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("dpo.py", b"1")
        archive.writestr(nameless, b"2")
        nameless.filename = ""  # the directory is written when the archive is closed
    assert set(take(tmp_path / "a.zip", MODULES, {}).sources) == {"dpo"}


def test_what_cannot_be_read_is_named_without_the_path_of_the_grader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = folder(tmp_path / "Ada Lovelace", dpo=b"1", laplace=b"2")

    def refused(path: Path) -> Callable[[int], bytes]:
        def read(limit: int) -> bytes:
            raise PermissionError(13, "Permission denied", str(path))

        return read

    monkeypatch.setattr(intake, "reads", refused)
    assert take(tree, MODULES, {}).left_out["dpo.py"] == "cannot be read (Permission denied)"


def test_broken_archives_are_unreadable_and_nothing_else(tmp_path: Path) -> None:
    """Bytes changed, cut out and doubled: whatever `zipfile` and `tarfile` raise, it is the submission's fault."""
    files = {f"{name}.py": b"x = 1\n" * 50 for name in ("dpo", "lab/laplace", "world")}
    seeds = [zipped(tmp_path / "a.zip", files).read_bytes()]
    for mode in ("w", "w:gz", "w:xz", "w:bz2"):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode=mode) as archive:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size, info.mtime = len(data), 1.5
                archive.addfile(info, io.BytesIO(data))
        seeds.append(packed.getvalue())
    rng = random.Random(6)
    for _ in range(2_000):
        broken = bytearray(rng.choice(seeds))
        for _ in range(rng.randint(1, 6)):
            place = rng.randrange(len(broken))
            broken[place : place + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        with contextlib.suppress(Unreadable):
            entries = list(intake.members(bytes(broken), "submission"))
            intake.taken_from(entries, MODULES, GIVEN, "submission", "submission")


def test_a_tar_that_holds_a_zip_is_a_tar(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"laplace.py": b"no"}).read_bytes()
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in (("dpo.py", b"1"), ("old.zip", inner)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    assert take(path, MODULES, {}).sources == {"dpo": b"1"}
