"""nbgrader's exchange, where what is released, collected and given back is ours.

A released exercise brings along what its notebook needs, since a learner fetches nothing else; what is collected goes where learners'
work lies; and of work that came by another way than the exchange there is no feedback to release there. Where the course's folder is a
group's, so are its folders in the exchange: all of the group's instructors may release and collect.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from nbgrader.exchange.default import Exchange, ExchangeCollect, ExchangeReleaseAssignment, ExchangeReleaseFeedback
from nbgrader.utils import temp_attrs

from ..kit.afterwards import FOLDER
from ..records.course import Course
from ..records.handed_in import SECRET, TIMESTAMP
from ..records.reset import taken_at
from ..strangers import quoted

# Beside the exercises' folders: without them a folder by itself can neither check answers nor run its tests.
NEEDED = ("kit", "conftest.py", "pytest.ini", "requirements.txt")
READABLE = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH


class OfGroup(Exchange):
    """What makes folders in the exchange. nbgrader lets the group write there, but which group that is depends on who comes first."""

    def ensure_directory(self, path, mode):
        is_new = not os.path.isdir(path)
        super().ensure_directory(path, mode)
        if is_new and self.coursedir.groupshared:
            os.chown(path, -1, Course().root.stat().st_gid)
            os.chmod(path, mode)


class ReleaseAssignment(OfGroup, ExchangeReleaseAssignment):
    """`nbgrader release_assignment`, which adds the kit to the exercise's folder."""

    def do_copy(self, src, dest, log=None):
        super().do_copy(src, dest, log)
        for own in Path(dest).glob(".*"):  # such as what an instructor has passed in this folder
            own.unlink() if own.is_file() else shutil.rmtree(own)
        for path in map(Path(src).parent.joinpath, NEEDED):
            if path.is_dir():
                shutil.copytree(path, Path(dest) / path.name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            else:
                shutil.copyfile(path, Path(dest) / path.name)
        # A class may not see right answers before its deadline, and a notebook knows of none: so they travel only where the course asks for it.
        packed = Path(src).parent / FOLDER / f"{Path(src).name}.txt"
        if Course().settings.reveals and packed.is_file():
            shutil.copyfile(packed, Path(dest) / f"{FOLDER}.txt")


class Collect(ExchangeCollect):
    """`nbgrader collect`, which writes to the learners' folders."""

    def start(self):
        with temp_attrs(self.coursedir, submitted_directory=str(Course().submitted)):
            return super().start()

    def init_src(self):
        """Leave out what `python -m autograder reset` has taken away, which the exchange still has."""
        super().init_src()
        course, name = Course(), self.coursedir.assignment_id
        for record in list(self.src_records):
            taken = taken_at(course, record["username"], name)
            if taken and record["timestamp"] <= taken:
                self.src_records.remove(record)
                self.log.warning("Taken away by a reset, and not collected again: %s %s", quoted(record["username"]), name)


class ReleaseFeedback(OfGroup, ExchangeReleaseFeedback):
    """`nbgrader release_feedback`, which leaves out what was not submitted through the exchange instead of ending there."""

    def copy_files(self):
        folders = Path(self.coursedir.format_path(self.coursedir.feedback_directory, "*", self.coursedir.assignment_id)).parent.parent
        pages = folders.glob(f"*/{self.coursedir.assignment_id}")
        others = [page.parent.name for page in pages if not ((page / SECRET).is_file() and (page / TIMESTAMP).is_file())]
        if others:
            names = ", ".join(map(quoted, sorted(others)[:10])) + (", ..." if len(others) > 10 else "")
            self.log.warning("Not submitted through the exchange, so nothing is released there for %s: %s", len(others), names)
        excluded = [self.coursedir.student_id_exclude, *others] if self.coursedir.student_id_exclude else others
        with temp_attrs(self.coursedir, student_id_exclude=",".join(excluded)):
            super().copy_files()
        # A course may be closed to learners, and pages are copied with their modes. Their names keep each from all but its learner.
        for page in Path(self.dest_path).glob("*.html"):
            if page.stat().st_uid == os.geteuid():
                page.chmod(page.stat().st_mode | READABLE)
