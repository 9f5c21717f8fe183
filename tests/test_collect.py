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
from autograder.intake.reading import MOST_BYTES
from autograder.plugins.archives import MOST_MEMBERS
from autograder.plugins.collect import SHOWN_OF_ONE

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
def whole(archives):
    """The folder for archives of a whole class."""
    (archives / "class").mkdir()
    return archives / "class"


@pytest.fixture
def not_taken(archives):
    """Return what is written down as not taken, line by line."""
    return lambda: (archives.parent / "not_taken.txt").read_text(encoding="utf-8").splitlines()


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


def test_good_work_is_collected_however_it_was_packed(course, archives, whole, collect, not_taken, notebook):
    packed(
        whole / "class.zip",
        {
            "ada/single_head.ipynb": notebook,
            "ada/photo.png": b"x",
            "grace_single_head.ipynb": notebook,
            "emmy-single_head-1.ipynb": notebook,
        },
    )
    packed(archives / "edsger.zip", {"single_head.py": b"# %%\n"})
    packed(archives / "radia_single_head (2).zip", {"single_head/single_head.ipynb": notebook, "radia/x.txt": b""})
    (whole / "donald_single_head.ipynb").write_bytes(notebook)
    (archives / "hedy_single_head.ipynb").write_bytes(notebook)
    output = collect()
    assert collected(course) == [
        "ada/single_head/single_head.ipynb",
        "donald/single_head/single_head.ipynb",
        "edsger/single_head/single_head.py",
        "emmy/single_head/single_head.ipynb",
        "grace/single_head/single_head.ipynb",
        "hedy/single_head/single_head.ipynb",
        "radia/single_head/single_head.ipynb",
    ], output
    assert (course.submitted / "ada/single_head/single_head.ipynb").read_bytes() == notebook and "Not collected" not in output
    listed = not_taken()
    assert [line.split(": ")[0] for line in listed] == ["'class/class.zip', 'ada/photo.png'", "'radia_single_head (2).zip', 'radia/x.txt'"]
    assert all("it is not called single_head.ipynb or .py" in line for line in listed)


def test_pattern_of_a_platform_still_works(course, archives, whole, collect, notebook):
    packed(whole / "all.zip", {"Lovelace, Ada_4711_submission_single_head.ipynb": notebook, "X_.._submission_single_head.ipynb": notebook})
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


def test_hostile_names_are_refused_and_named(course, archives, whole, collect, notebook):
    packed(whole / "all.zip", {"ada/single_head.ipynb": notebook, **dict.fromkeys(HOSTILE_NAMES, notebook)})
    output = collect()
    assert collected(course) == ["ada/single_head/single_head.ipynb"]
    extracted = course.root / "downloaded" / "single_head" / "extracted"
    written = [p for p in course.root.parent.rglob("*.ipynb") if extracted not in p.parents and course.root / "source" not in p.parents]
    assert written == [course.submitted / "ada/single_head/single_head.ipynb"] and not os.path.exists("/tmp/single_head.ipynb")
    for name, why in HOSTILE_NAMES.items():
        named = name.split("/")[-2] if why == "not a learner's name" else name[:200]
        assert any(repr(named)[1:] in line and why in line for line in output.splitlines()), (name, output)
    assert "\x1b[2J" not in output and "\u202e" not in output


def test_links_devices_and_pipes_are_refused(course, archives, whole, collect, notebook):
    kinds = {"link": stat.S_IFLNK, "device": stat.S_IFCHR, "pipe": stat.S_IFIFO, "socket": stat.S_IFSOCK}
    packed(
        whole / "all.zip",
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


def test_bombs_are_stopped_while_they_unpack(course, archives, whole, collect, notebook):
    zeros = bytes(20 * MEGABYTE)
    packed(whole / "big.zip", {"eve/single_head.ipynb": zeros, "ada/single_head.ipynb": notebook})
    inner = packed(archives.parent / "inner.zip", {"single_head.ipynb": zeros}).read_bytes()
    packed(whole / "nested.zip", {f"{n}.zip": inner for n in range(16)})
    packed(whole / "many.zip", {f"eve{n}/single_head.ipynb": bytes(8 * MEGABYTE) for n in range(40)})
    output = collect()
    assert "ada/single_head/single_head.ipynb" in collected(course)
    assert "'eve/single_head.ipynb': it has more than 8 MB" in output and not (course.submitted / "eve").exists()
    assert output.count("archive in an archive") == 16 and "'15.zip'" in output
    assert "'class/many.zip'" in output and "unpacks to far more than its size" in output
    assert sum(p.stat().st_size for p in course.root.rglob("*") if p.is_file()) < 400 * MEGABYTE


def test_size_that_the_archive_states_is_not_believed(course, archives, whole, collect, notebook):
    path = packed(whole / "all.zip", {"eve/single_head.ipynb": bytes(20 * MEGABYTE), "ada/single_head.ipynb": notebook})
    data = bytearray(path.read_bytes())
    for at, field in ((data.index(b"PK\1\2"), 24), (0, 22)):  # central and local record: uncompressed size
        data[at + field : at + field + 4] = struct.pack("<I", 100)
    path.write_bytes(data)
    output = collect()
    assert collected(course) == ["ada/single_head/single_head.ipynb"] and "'eve/single_head.ipynb': it is broken" in output


def test_overlapping_members_are_one_budget(course, archives, whole, collect):
    """Hundreds of members that share the same compressed bytes: a bomb without any nesting."""
    (whole / "overlap.zip").write_bytes(overlapping(bytes(7 * MEGABYTE), 300))
    output = collect()
    assert "'class/overlap.zip'" in output and ("unpacks to far more" in output or "verlap" in output)
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


def test_other_tricks_of_an_archive_are_refused(course, archives, whole, collect, notebook):
    path = packed(whole / "locked.zip", {"eve/single_head.ipynb": notebook})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    packed(whole / "lzma.zip", {"lzma/single_head.ipynb": notebook}, zipfile.ZIP_LZMA)
    packed(
        whole / "twins.zip",
        {
            "Eve/single_head.ipynb": notebook,
            "eve/single_head.ipynb": notebook,
            "caf\u00e9/single_head.ipynb": notebook,
            "cafe\u0301/single_head.ipynb": notebook,
        },
    )
    packed(whole / "crowd.zip", {f"{n}.txt": b"" for n in range(MOST_MEMBERS + 1)})
    packed(whole / "table.zip", {f"{n}{'x' * 180}.txt": b"" for n in range(MOST_MEMBERS)})
    (whole / "no.zip").write_bytes(b"PK\3\4 and nothing else")
    (archives / "eve.tar.gz").write_bytes(b"\x1f\x8b")
    (archives / "eve_single_head.ipynb").write_bytes(b" " * (MOST_BYTES + 1))
    packed(whole / "good.zip", {"ada/single_head.ipynb": notebook})
    output = collect()
    assert collected(course) == ["ada/single_head/single_head.ipynb"]
    for words in (
        "'class/locked.zip', 'eve/single_head.ipynb': it is encrypted",
        "'class/lzma.zip', 'lzma/single_head.ipynb': it is compressed in an unusual way",
        "'class/crowd.zip': it has 20001 members",
        "'class/table.zip': it is not a zip archive that can be read (its table of contents is too long)",
        "'class/no.zip': it is not a zip",
        "'eve.tar.gz': this kind of archive is not opened",
        "'eve_single_head.ipynb': it has more than 8 MB",
    ):
        assert words in output, output
    assert output.count("differs only in case or accents") == 4


def test_an_archive_is_its_learners_alone_and_where_two_claim_a_name_neither_has_it(course, archives, whole, collect, not_taken, notebook):
    theft = json.dumps({"cells": []}).encode()
    packed(archives / "mallory_single_head.zip", {"zoe/single_head.ipynb": theft})
    packed(archives / "mallory.zip", {"homework/ada_single_head.ipynb": theft})
    (archives / "Mallory_17").mkdir()
    packed(archives / "Mallory_17" / "emmy.zip", {"single_head.ipynb": theft})
    packed(archives / "single_head.zip", {"grace/single_head.ipynb": theft})
    packed(archives / "crowd.zip", {f"learner{n}/single_head.ipynb": theft for n in range(300)})
    packed(archives / "greedy.zip", {"greedy/single_head.ipynb": theft, "single_head.ipynb": theft})
    for learner in ("zoe", "ada"):
        (archives / f"{learner}_single_head.ipynb").write_bytes(notebook)
    # Two files of one learner's, of which nobody can tell which is right: in files and archives, and where a file system doesn't tell names apart.
    packed(archives / "hedy.zip", {"single_head.ipynb": theft})
    (archives / "hedy_single_head.ipynb").write_bytes(notebook)
    packed(archives / "Radia.zip", {"single_head.ipynb": theft})
    packed(whole / "all.zip", {"radia/single_head.ipynb": notebook, "barbara/single_head.ipynb": notebook, "barbara/single_head.py": b"x"})
    output = collect()
    assert collected(course) == [f"{learner}/single_head/single_head.ipynb" for learner in ("ada", "barbara", "zoe")], output
    assert all((course.submitted / name).read_bytes() == notebook for name in collected(course))
    listed = not_taken()
    for start in (
        "'mallory_single_head/zoe/single_head.ipynb': its name and its folders tell of different learners ('mallory', 'zoe')",
        "'mallory/homework/ada_single_head.ipynb': its name and its folders tell of different learners ('mallory', 'homework', 'ada')",
        "'Mallory_17/emmy/single_head.ipynb': its name and its folders tell of different learners ('Mallory_17', 'emmy')",
        "'single_head/grace/single_head.ipynb': nothing in its archive's name says whose it is",
        *(
            f"'crowd/learner{n}/single_head.ipynb': its name and its folders tell of different learners ('crowd', 'learner{n}')"
            for n in range(300)
        ),
        "'hedy/single_head.ipynb': there are 2 files of hedy's, and none of them was taken (also 'hedy_single_head.ipynb')",
        "'hedy_single_head.ipynb': there are 2 files of hedy's, and none of them was taken (also 'hedy/single_head.ipynb')",
        "'Radia/single_head.ipynb': there are 2 files of Radia's, and none of them was taken (also 'class/all/radia/single_head.ipynb')",
        "'class/all/radia/single_head.ipynb': there are 2 files of radia's, and none of them was taken (also 'Radia/single_head.ipynb')",
        "'greedy/greedy/single_head.ipynb': there are 2 files of greedy's",
        "'greedy/single_head.ipynb': there are 2 files of greedy's",
        "'class/all/barbara/single_head.py': single_head.ipynb beside it was taken",
    ):
        assert sum(line.startswith(start) for line in listed) == 1, (start, listed)
    assert (
        len(listed) == 311
        and output.count("Not collected: ") == 14
        and output.count("'crowd/") == SHOWN_OF_ONE
        and f"{len(listed)} files were left" in output
    )


def test_no_more_learners_than_are_expected(course, archives, whole, collect, not_taken, notebook):
    packed(whole / "all.zip", {f"learner{n}/single_head.ipynb": notebook for n in range(5)})
    output = collect("--Collector.most_learners=4")
    assert collected(course) == [] and len(not_taken()) == 5
    assert (
        "the files are of 5 learners, and 4 are expected at most. If your class is as large, collect again with --Collector.most_learners=5"
        in output
    )
    collect("--Collector.most_learners=5")
    assert len(collected(course)) == 5 and not_taken() == []


def test_a_pattern_reads_the_name_that_the_platform_gave_to_an_archive(course, archives, whole, collect, not_taken, notebook):
    packed(archives / "Lovelace, Ada_4711_submission_work.zip", {"single_head.ipynb": notebook})
    packed(archives / "Mallory_666_submission_work.zip", {"Ada_4711_submission_single_head.ipynb": b"{}"})
    packed(archives / "Eve_7_submission_work.zip", {"single_head.ipynb": b"{}", "x/single_head.ipynb": b"{}"})
    collect(r"--FileNameCollectorPlugin.named_regexp=.*_(?P<student_id>[\w.]+)_submission_(?P<file_id>\w+)")
    assert collected(course) == [f"{number}/single_head/single_head.ipynb" for number in (4711, 666)]
    assert (course.submitted / "4711/single_head/single_head.ipynb").read_bytes() == notebook and len(not_taken()) == 2


def test_a_time_that_does_not_exist_costs_one_file(course, archives, whole, collect, not_taken, notebook):
    for name in ("ada_2026-01-02", "eve_2026-99-99", "bob_9999999"):
        (archives / f"{name}_single_head.ipynb").write_bytes(notebook)
    collect(r"--FileNameCollectorPlugin.named_regexp=.*/(?P<student_id>[a-z]+)_(?P<timestamp>[-\d]+)_(?P<file_id>\w+)")
    assert collected(course)[:2] == ["ada/single_head/single_head.ipynb", "ada/single_head/timestamp.txt"]
    assert any("'eve_2026-99-99_single_head.ipynb': its name tells no time" in line for line in not_taken())


def test_names_of_the_archive_folders_own_folders_are_not_printed_as_they_are(course, archives, whole, collect, not_taken, notebook):
    for name in ("eve\x1b[2J", "eve\nada", "eve\u202e"):
        (archives / name).mkdir()
        (archives / name / "single_head.ipynb").write_bytes(notebook)
    output = collect()
    assert collected(course) == [] and len(not_taken()) == 3 and all("cannot be seen" in line for line in not_taken())
    assert not set(output) & {"\x1b", "\u202e"} and "\nada" not in output


def test_a_file_named_after_somebody_else_is_refused_and_takes_nobodys_place(course, archives, whole, collect, notebook):
    theft = json.dumps({"cells": []}).encode()
    packed(
        whole / "moodle.zip",
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
        ("class/moodle/Bob_17_assignsubmission_file/ada_single_head.ipynb", "'Bob_17_assignsubmission_file', 'ada'"),
        ("class/moodle/Bob_17_assignsubmission_file/zoe/single_head.ipynb", "'Bob_17_assignsubmission_file', 'zoe'"),
        ("Eve_18/alan_single_head.ipynb", "'Eve_18', 'alan'"),
    ):
        assert f"{where!r}: its name and its folders tell of different learners ({who})" in output
    assert (
        output.count("Not collected: ") == 4 and "'single_head.ipynb': nothing in its name and its folders' says whose it is" in output
    )  # of single_head.ipynb nothing tells whose
