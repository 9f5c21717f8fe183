"""Random classes and random archives: whatever lies there is read or refused, and nbgrader is shown nothing but our own.

    python -m tests.fuzz.folders 300 [seed]

makes that many of each. What breaks a rule ends it, with the folder kept.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

from nbgrader.apps import ZipCollectApp
from nbgrader.coursedir import CourseDirectory
from rich.progress import track

from autograder.errors import Refused
from autograder.exercise import reading as exercises
from autograder.intake.reading import MOST_BYTES
from autograder.intake.submission import is_learner
from autograder.plugins.archives import alike
from autograder.plugins.collect import CLASS, Collector, Extractor
from autograder.plugins.for_nbgrader import EMPTY, lay_out
from autograder.records import handed_in
from autograder.records.course import Course
from autograder.records.handed_in import TIMESTAMP
from tests.fuzz.mutants import mutant, originals, read_here

EXERCISE = "single_head"
LEARNERS = ("ada", "Ada", "zoe", "mallory_17", "a.b@c", "x" * 64)
NAMES = (
    *LEARNERS,
    *("new\nline", "\x1b[2J", "a\u202eb", "a b", "..a", "-rf", "x" * 65, "*", "[ab]", "{learner}", "a\\b", "%s", "caf\u00e9", "cafe\u0301"),
    *("half\udcff", "\u2028", "'", '"', "<b>", "$HOME", ".hidden", "class", EXERCISE, f"{EXERCISE}.ipynb", "\t", "~"),
)
MEMBERS = (*NAMES, "..", ".", "", "/", "a/b", "C:", "x" * 250, "__MACOSX", "\0x")
TIMES = (
    "2026-11-22 08:30:00 UTC",
    "2026-99-99 00:00:00",
    "",
    "\0",
    "\x1b[2J",
    "1" * 400,
    "2026-11-22 08:30:00 ../../x",
    "now",
    "0001-01-01 00:00",
)


def class_of(chance: random.Random, course: Course, files: list[bytes]) -> None:
    """Lay out a class in which anything lies anywhere."""
    for name in dict.fromkeys([*chance.sample(NAMES, 6), *chance.sample(LEARNERS, 4)]):
        folder = course.submitted / name / EXERCISE
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not _odd(chance, folder):
            folder.mkdir()
            for file in (f"{EXERCISE}.ipynb", f"{EXERCISE}.py", TIMESTAMP, "data.bin", *chance.sample(NAMES, 2)):
                if chance.random() < 0.5 and not _odd(chance, folder / file):
                    (folder / file).write_bytes(chance.choice(TIMES).encode() if file == TIMESTAMP else chance.choice(files))


def _odd(chance: random.Random, path: Path) -> bool:
    """Put something there that is no plain file or folder, now and then."""
    if chance.random() < 0.7 or os.path.lexists(path):
        return os.path.lexists(path)
    target = chance.choice(("/dev/zero", "/", "..", path.name, "nowhere", "/proc/self/mem", "/dev/tty"))
    chance.choice((lambda: os.mkfifo(path), lambda: path.symlink_to(target), lambda: path.symlink_to(target), path.mkdir))()
    return True


def check_class(course: Course) -> Counter[str]:
    """Read a class, and see what nbgrader is shown of it; return how often each thing happened."""
    seen: Counter[str] = Counter()
    submissions = course.submissions([EXERCISE])
    for learner, name in submissions:
        try:
            read_here(course.handed_in(learner, name), learner, exercises.load(name))
            seen["read"] += 1
        except Refused as refusal:
            assert str(refusal).isprintable(), repr(str(refusal))
            seen[refusal.what.split("(")[0]] += 1
    lay_out(course)
    shown = [path for path in course.for_nbgrader.rglob("*") if not path.is_dir() or path.is_symlink()]
    assert {path.parts[-3:-1] for path in shown} == {each for each in submissions if is_learner(each[0])}
    for path in shown:
        assert stat.S_ISREG(path.lstat().st_mode) and path.name in (f"{EXERCISE}.ipynb", TIMESTAMP)
        text = path.read_text(encoding="ascii")
        assert text == EMPTY if path.name != TIMESTAMP else text.endswith(" UTC\n") and len(text) < 40, text
    seen["shown to nbgrader"] += len(shown)
    return seen


def archives_of(chance: random.Random, folder: Path, files: list[bytes]) -> None:
    """Fill an archive folder with files and archives under all kinds of names."""
    for _ in range(6):
        place = folder / chance.choice(("", CLASS, chance.choice(NAMES)))
        place.mkdir(parents=True, exist_ok=True)
        if chance.random() < 0.2 and _odd(chance, place / "x"):
            continue
        name = chance.choice(chance.choice((NAMES, LEARNERS)))
        target = place / chance.choice(
            (f"{name}.zip", f"{name}.zip", f"{name}_{EXERCISE}.zip", f"{EXERCISE}.zip", f"{name}_{EXERCISE}.ipynb")
        )
        if os.path.lexists(target):
            continue
        target.write_bytes(chance.choice(files) if target.suffix != ".zip" else _archive(chance, files))


def _archive(chance: random.Random, files: list[bytes]) -> bytes:
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))) as archive:
            for _ in range(chance.randrange(8)):
                name = chance.choice(chance.choice((MEMBERS, LEARNERS))).encode("utf-8", "replace").decode()
                ending = chance.choice((f"{EXERCISE}.ipynb", f"{EXERCISE}.py", "x.txt", f"{name}_{EXERCISE}-1.ipynb", "inner.zip", ""))
                member = zipfile.ZipInfo(chance.choice((f"{name}/{ending}", ending, f"x/{name}/{ending}")) or "x")
                member.external_attr = chance.choice((0, 0, 0, stat.S_IFLNK, stat.S_IFIFO, 0o644)) << 16
                if member.filename not in archive.NameToInfo:
                    archive.writestr(member, chance.choice((*files, bytes(MOST_BYTES + 1))))
        file.seek(0)
        data = bytearray(file.read())
    for _ in range(chance.choice((0, 0, 0, 1, 3))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def check_archives(course: Course) -> Counter[str]:
    """Collect from an archive folder in this process; return how often each thing happened."""
    app = ZipCollectApp()
    app.log.disabled = True
    app.coursedir = CourseDirectory(root=str(course.root), assignment_id=EXERCISE)
    app.collect_directory_structure = str(course.root / "downloaded" / "{assignment_id}" / "{collect_step}")
    folder, extracted = (Path(app._format_collect_path(step)) for step in (app.archive_directory, app.extracted_directory))
    before = {path for path in course.root.rglob("*") if extracted not in path.parents}
    Extractor(parent=app).extract(str(folder), str(extracted))
    files = sorted(path for path in extracted.rglob("*") if path.is_file())
    assert all(stat.S_ISREG(path.lstat().st_mode) and path.stat().st_size <= MOST_BYTES for path in files)
    collector = Collector(parent=app)
    taken = {path: found for path in files if (found := collector.collect(str(path)))}
    listed = [*folder.parent.joinpath("not_taken.txt").read_text(encoding="utf-8").splitlines()]
    assert all(line.isprintable() for line in listed)
    if files:
        assert {path for path in course.root.rglob("*") if extracted not in path.parents} - before <= {
            folder.parent / "not_taken.txt",
            extracted,
        }
        left = {str(path.relative_to(extracted)) for path in files} - {str(path.relative_to(extracted)) for path in taken}
        assert all(any(line.startswith(repr(name)) for line in listed) for name in left if len(name) < 200), (left, listed)
    learners = [alike(found["student_id"]) for found in taken.values()]
    assert len(learners) == len(set(learners)) and all(is_learner(found["student_id"]) for found in taken.values())
    for path, found in taken.items():
        if path.relative_to(extracted).parts[0] != CLASS:  # whoever named it named the learner
            assert found["student_id"] in str(path.relative_to(extracted)).replace("/", "_"), path
    return Counter({"collected": len(taken), "not collected": len(listed)})


def fuzz(count: int, seed: int, folder: Path, steps=iter) -> Counter[str]:
    """Make and read so many classes and archive folders; what breaks a rule is kept in `folder`."""
    sources, seen = originals(), Counter[str]()
    for number in steps(range(count)):
        chance = random.Random(f"{seed} {number}")
        files = [chance.choice(sources)[1], mutant(chance.choice(sources)[1], chance)[1], b"", b"\0" * 100]
        course = Course(folder / f"class-{seed}-{number}")
        handed_in._told.clear()
        try:
            class_of(chance, course, files)
            seen += check_class(course)
            archives_of(chance, course.root / "downloaded" / EXERCISE / "archive", files)
            seen += check_archives(course)
        except BaseException as error:
            error.add_note(f"class {number} of seed {seed}: {course.root}")
            raise
        shutil.rmtree(course.root)
    return seen


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    print(f"{count} classes and archive folders, seed {seed}", flush=True)
    seen = fuzz(count, seed, Path(tempfile.mkdtemp(prefix="classes-")), lambda numbers: track(numbers, "reading"))
    for what, times in seen.most_common():
        print(f"{times:7}  {what}")


if __name__ == "__main__":
    main()
