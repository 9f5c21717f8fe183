"""`nbgrader zip_collect` on hostile archives: each is refused by name, and good work is collected."""

import json
import os
import stat
import struct
import zipfile
import zlib

import nbformat
import pytest

from autograder.authoring.sample import handed_in
from autograder.plugins.collect import MOST_BYTES, MOST_MEMBERS

MEGABYTE = 1 << 20


@pytest.fixture
def notebook(single_head) -> bytes:
    return nbformat.writes(handed_in(single_head, None)).encode()


@pytest.fixture
def archives(course):
    folder = course.root / "downloaded" / "single_head" / "archive"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def collect(command, archives):
    def run(*words) -> str:
        done = command("nbgrader", "zip_collect", "single_head", "--force", *words)
        return done.stdout + done.stderr

    return run


def packed(path, members: dict, method=zipfile.ZIP_DEFLATED):
    """Write an archive; a member's value is its bytes, and its key a name or a `ZipInfo`."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def collected(course) -> list[str]:
    return sorted(str(p.relative_to(course.submitted)) for p in course.submitted.rglob("*") if p.is_file())


def member(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def test_good_work_is_collected_however_it_was_packed(course, archives, collect, notebook):
    packed(
        archives / "class.zip",
        {
            "ada/single_head.ipynb": notebook,
            "ada/photo.png": b"x",
            "grace_single_head.ipynb": notebook,
            "emmy-single_head-1.ipynb": notebook,
        },
    )
    (archives / "late").mkdir()
    packed(archives / "late" / "edsger.zip", {"single_head.py": b"# %%\n"})
    (archives / "hedy_single_head.ipynb").write_bytes(notebook)
    output = collect()
    assert collected(course) == [
        "ada/single_head/single_head.ipynb",
        "edsger/single_head/single_head.py",
        "emmy/single_head/single_head.ipynb",
        "grace/single_head/single_head.ipynb",
        "hedy/single_head/single_head.ipynb",
    ], output
    assert (course.submitted / "ada/single_head/single_head.ipynb").read_bytes() == notebook and "Not collected" not in output


def test_pattern_of_a_platform_still_works(course, archives, collect, notebook):
    packed(
        archives / "all.zip", {"Lovelace, Ada_4711_submission_single_head.ipynb": notebook, "X_.._submission_single_head.ipynb": notebook}
    )
    output = collect(r"--FileNameCollectorPlugin.named_regexp=.*_(?P<student_id>[\w.]+)_submission_(?P<file_id>\w+)")
    assert collected(course) == ["4711/single_head/single_head.ipynb"], output
    assert "'..'" in output and "not a learner's name" in output


HOSTILE_NAMES = {
    "../single_head.ipynb": "leads elsewhere",
    "a/../../../../eve/single_head.ipynb": "leads elsewhere",
    "/tmp/single_head.ipynb": "from the root",
    "C:/single_head.ipynb": "from the root",
    "..\\..\\single_head.ipynb": "backslash",
    "a//single_head.ipynb": "leads elsewhere",
    "./single_head.ipynb": "leads elsewhere",
    "eve\x1b[2J/single_head.ipynb": "cannot be seen",
    "eve\u202e/single_head.ipynb": "cannot be seen",
    "eve/" + "x" * 300 + "single_head.ipynb": "too long",
    "a/b/c/d/e/f/g/h/i/j/k/single_head.ipynb": "too long",
    "[/b]/single_head.ipynb": "different learners",
    "[b]/single_head.ipynb": "not a learner's name",
    "<img src=x onerror=alert(1)>/single_head.ipynb": "not a learner's name",
}


def test_hostile_names_are_refused_and_named(course, archives, collect, notebook):
    packed(archives / "all.zip", {"ada/single_head.ipynb": notebook, **dict.fromkeys(HOSTILE_NAMES, notebook)})
    output = collect()
    assert collected(course) == ["ada/single_head/single_head.ipynb"]
    extracted = course.root / "downloaded" / "single_head" / "extracted"
    written = [p for p in course.root.parent.rglob("*.ipynb") if extracted not in p.parents and course.root / "source" not in p.parents]
    assert written == [course.submitted / "ada/single_head/single_head.ipynb"] and not os.path.exists("/tmp/single_head.ipynb")
    for name, why in HOSTILE_NAMES.items():
        named = name.split("/")[-2] if why == "not a learner's name" else name[:200]
        assert any(repr(named)[1:] in line and why in line for line in output.splitlines()), (name, output)
    assert "\x1b[2J" not in output and "\u202e" not in output


def test_links_devices_and_pipes_are_refused(course, archives, collect, notebook):
    kinds = {"link": stat.S_IFLNK, "device": stat.S_IFCHR, "pipe": stat.S_IFIFO, "socket": stat.S_IFSOCK}
    packed(
        archives / "all.zip",
        {
            "ada/single_head.ipynb": notebook,
            **{member(f"{name}/single_head.ipynb", kind | 0o777): b"/etc/passwd" for name, kind in kinds.items()},
        },
    )
    os.symlink("/etc/passwd", archives / "eve_single_head.ipynb")
    os.symlink("/etc", archives / "etc")
    os.mkfifo(archives / "mallory_single_head.ipynb")
    output = collect()
    assert collected(course) == ["ada/single_head/single_head.ipynb"]
    for name in kinds:
        assert f"'{name}/single_head.ipynb': it is not a plain file" in output
    assert "'eve_single_head.ipynb': it cannot be opened" in output and "'mallory_single_head.ipynb': it is not a plain file" in output


def test_bombs_are_stopped_while_they_unpack(course, archives, collect, notebook):
    zeros = bytes(20 * MEGABYTE)
    packed(archives / "big.zip", {"eve/single_head.ipynb": zeros, "ada/single_head.ipynb": notebook})
    inner = packed(archives.parent / "inner.zip", {"single_head.ipynb": zeros}).read_bytes()
    packed(archives / "nested.zip", {f"{n}.zip": inner for n in range(16)})
    packed(archives / "many.zip", {f"eve{n}/single_head.ipynb": bytes(8 * MEGABYTE) for n in range(40)})
    output = collect()
    assert "ada/single_head/single_head.ipynb" in collected(course)
    assert "'eve/single_head.ipynb': it has more than 8 MB" in output and not (course.submitted / "eve").exists()
    assert output.count("archive in an archive") == 16 and "'15.zip'" in output
    assert "'many.zip'" in output and "unpacks to far more than its size" in output
    assert sum(p.stat().st_size for p in course.root.rglob("*") if p.is_file()) < 400 * MEGABYTE


def test_size_that_the_archive_states_is_not_believed(course, archives, collect, notebook):
    path = packed(archives / "all.zip", {"eve/single_head.ipynb": bytes(20 * MEGABYTE), "ada/single_head.ipynb": notebook})
    data = bytearray(path.read_bytes())
    for at, field in ((data.index(b"PK\1\2"), 24), (0, 22)):  # central and local record: uncompressed size
        data[at + field : at + field + 4] = struct.pack("<I", 100)
    path.write_bytes(data)
    output = collect()
    assert collected(course) == ["ada/single_head/single_head.ipynb"] and "'eve/single_head.ipynb': it is broken" in output


def test_overlapping_members_are_one_budget(course, archives, collect):
    """Hundreds of members that share the same compressed bytes: a bomb without any nesting."""
    (archives / "overlap.zip").write_bytes(overlapping(bytes(7 * MEGABYTE), 300))
    output = collect()
    assert "'overlap.zip'" in output and ("unpacks to far more" in output or "verlap" in output)
    assert sum(p.stat().st_size for p in (course.root / "downloaded").rglob("*") if p.is_file()) < 100 * MEGABYTE


def overlapping(content: bytes, count: int) -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    body, name = squeeze.compress(content) + squeeze.flush(), b"eve/single_head.ipynb"
    common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, zlib.crc32(content), len(body), len(content), len(name), 0)
    local = b"PK\3\4" + common + name + body
    entry = b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    names = [entry.replace(name, f"e{n:02}/single_head.ipynb"[-len(name) :].encode()) for n in range(100)]
    locals_ = b"".join(local.replace(name, each[-len(name) :], 1) for each in names[:1])
    table = b"".join(entry for _ in range(count))
    return (
        locals_.replace(names[0][-len(name) :], name)
        + table
        + b"PK\5\6"
        + struct.pack("<HHHHIIH", 0, 0, count, count, len(table), len(locals_), 0)
    )


def test_other_tricks_of_an_archive_are_refused(course, archives, collect, notebook):
    path = packed(archives / "locked.zip", {"eve/single_head.ipynb": notebook})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    packed(archives / "lzma.zip", {"lzma/single_head.ipynb": notebook}, zipfile.ZIP_LZMA)
    packed(
        archives / "twins.zip",
        {
            "Eve/single_head.ipynb": notebook,
            "eve/single_head.ipynb": notebook,
            "caf\u00e9/single_head.ipynb": notebook,
            "cafe\u0301/single_head.ipynb": notebook,
        },
    )
    packed(archives / "crowd.zip", {f"{n}.txt": b"" for n in range(MOST_MEMBERS + 1)})
    packed(archives / "table.zip", {f"{n}{'x' * 180}.txt": b"" for n in range(MOST_MEMBERS)})
    (archives / "no.zip").write_bytes(b"PK\3\4 and nothing else")
    (archives / "eve.tar.gz").write_bytes(b"\x1f\x8b")
    (archives / "eve_single_head.ipynb").write_bytes(b" " * (MOST_BYTES + 1))
    packed(archives / "good.zip", {"ada/single_head.ipynb": notebook})
    output = collect()
    assert collected(course) == ["ada/single_head/single_head.ipynb"]
    for words in (
        "'locked.zip', 'eve/single_head.ipynb': it is encrypted",
        "'lzma.zip', 'lzma/single_head.ipynb': it is compressed in an unusual way",
        "'crowd.zip': it has 20001 members",
        "'table.zip': it is not a zip archive that can be read (its table of contents is too long)",
        "'no.zip': it is not a zip",
        "'eve.tar.gz': this kind of archive is not opened",
        "'eve_single_head.ipynb': it has more than 8 MB",
    ):
        assert words in output, output
    assert output.count("differs only in case or accents") == 4


def test_two_files_of_one_learner_do_not_stop_the_rest(course, archives, collect, notebook):
    packed(archives / "a.zip", {"ada/single_head.ipynb": notebook})
    packed(archives / "b.zip", {"ada_single_head.ipynb": b"{}", "zoe/single_head.ipynb": notebook})
    output = collect()
    assert collected(course) == ["ada/single_head/single_head.ipynb", "zoe/single_head/single_head.ipynb"]
    assert "there is another file of ada's" in output and (course.submitted / "ada/single_head/single_head.ipynb").read_bytes() == notebook


def test_a_file_named_after_somebody_else_is_refused_and_takes_nobodys_place(course, archives, collect, notebook):
    theft = json.dumps({"cells": []}).encode()
    packed(
        archives / "moodle.zip",
        {
            "Bob_17_assignsubmission_file/ada_single_head.ipynb": theft,
            "Bob_17_assignsubmission_file/zoe/single_head.ipynb": theft,
            "ada/single_head.ipynb": notebook,
            "emmy/emmy_single_head.ipynb": notebook,
            "moodle/grace_single_head.ipynb": notebook,
        },
    )
    (archives / "Eve_18").mkdir()
    (archives / "Eve_18" / "alan_single_head.ipynb").write_bytes(theft)
    (archives / "single_head.ipynb").write_bytes(notebook)
    output = collect()
    assert collected(course) == [f"{learner}/single_head/single_head.ipynb" for learner in ("ada", "emmy", "grace")], output
    assert (course.submitted / "ada/single_head/single_head.ipynb").read_bytes() == notebook
    for where, who in (
        ("moodle/Bob_17_assignsubmission_file/ada_single_head.ipynb", "'Bob_17_assignsubmission_file', 'ada'"),
        ("moodle/Bob_17_assignsubmission_file/zoe/single_head.ipynb", "'Bob_17_assignsubmission_file', 'zoe'"),
        ("Eve_18/alan_single_head.ipynb", "'Eve_18', 'alan'"),
    ):
        assert f"{where!r}: its name and its folders tell of different learners ({who})" in output
    assert (
        output.count("Not collected: ") == 4 and "learner '': this is not a learner's name" in output
    )  # of single_head.ipynb nothing tells whose
