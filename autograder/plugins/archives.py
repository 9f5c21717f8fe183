"""What may be taken out of an archive: a notebook or script of the exercise, as a plain file, within bounds.

An archive is a stranger's bytes. No size, name or kind that it states is believed; bytes are counted as they come.
"""

from __future__ import annotations

import io
import os
import re
import stat
import unicodedata
import zipfile
import zlib
from collections import Counter
from pathlib import Path

from ..errors import Refused
from ..intake.reading import MOST_BYTES
from ..strangers import one_line, quoted

MEGABYTE = 1 << 20
MOST_MEMBERS = 20_000
MOST_TABLE = 4 * MEGABYTE  # of an archive's table of contents, which is read whole
MOST_AT_REST, MOST_GROWTH = 64 * MEGABYTE, 25  # a class's archive may unpack to so much, and so many times its size; a learner's to so much
KINDS = (".ipynb", ".py")
ARCHIVES = (".zip", ".gz", ".tgz", ".tar", ".bz2", ".xz", ".7z", ".rar", ".zst")
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others take memory as the archive pleases
# What zipfile raises on what is no archive that it can read.
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError)
PACK_ANEW = "Pack it anew with nothing but notebooks in it, or put the notebook itself into the archive folder"


LONGEST_WHERE = 200


class NotWanted(Refused):
    """A file that is not called like the exercise: there are many in a class's archive, and none is missed."""


def is_wanted(name: str, exercise: str) -> bool:
    """Return whether a file is called like the exercise, with what a platform adds before and after."""
    stem, kind = os.path.splitext(name.rsplit("/", 1)[-1])
    return kind.lower() in KINDS and before_exercise(stem, exercise) is not None


def before_exercise(name: str, exercise: str) -> str | None:
    """Return what stands before the exercise's name in the name of a file, folder or archive; None where the exercise is not in it.

    Learners and browsers add to it: `Single_Head`, `single_head-Copy1`, `Copy of single_head`, `single_head (2)`, `single_head_final`.
    """
    found = re.fullmatch(rf"(.*?)(?:^|[_\- ]+)(?:copy of )?{re.escape(exercise)}(?:[-_ (].*)?", name, re.IGNORECASE)
    return found[1] if found else None


def alike(name: str) -> str:
    """Return the name as a file system that is careless about case and accents may see it."""
    return unicodedata.normalize("NFKC", name).casefold()


def check_name(name: str, where: str) -> None:
    """Raise `Refused` for a file's or member's name that is no plain path downwards."""
    parts = name.rstrip("/").split("/")
    bad = (
        ("a backslash is in its name", "\\" in name),
        ("its name is a path from the root", name.startswith("/") or re.match(r"[A-Za-z]:", name)),
        ("its name leads elsewhere", any(part in ("", ".", "..") for part in parts)),
        ("its name has characters that cannot be seen", not name.isprintable()),
        ("its name is too long", any(len(part.encode()) > 200 for part in parts if part.isprintable()) or len(parts) > 10),
    )
    for what, found in bad:
        if found:
            raise Refused(where, what, PACK_ANEW)


def taken(folder: Path, inside: Path, target: Path, exercise: str, whole_class: bool) -> list[Refused]:
    """Take what is wanted of one file in the archive folder; return what was not taken, each with the reason."""
    where = quoted(str(inside), LONGEST_WHERE)
    try:
        check_name(str(inside), where)
        with _opened(folder / inside, where) as file:
            if inside.suffix == ".zip":
                return _Archive(file, where, exercise, whole_class).unpack(target.with_suffix(""))
            if inside.suffix in ARCHIVES:
                raise Refused(where, "this kind of archive is not opened", "Pack it as .zip")
            _check_wanted(inside.name, where, exercise)
            _write(_read_capped(file, where), target, where)
    except Refused as refusal:
        return [refusal]
    return []


def _check_wanted(name: str, where: str, exercise: str) -> None:
    if not is_wanted(name, exercise):
        raise NotWanted(
            where, f"it is not called {exercise}.ipynb or .py, with or without a learner's name before", "Nothing has to be done"
        )


def _opened(path: Path, where: str):
    """Return the file, opened; raises `Refused` for links, pipes and devices."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Refused(where, f"it cannot be opened ({error.strerror})", "Put the file itself there, not a link") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Refused(where, "it is not a plain file", "Put the file itself there")
    return os.fdopen(fd, "rb")


class _Archive:
    """A zip archive, whose statements about itself are not believed; raises `Refused` if it is not one."""

    def __init__(self, file, where: str, exercise: str, whole_class: bool):
        self._where, self._exercise = where, exercise
        self._left = MOST_AT_REST + MOST_GROWTH * os.fstat(file.fileno()).st_size * whole_class
        try:
            self._zip = zipfile.ZipFile(_ReadInPieces(file))
        except BROKEN as error:
            raise Refused(where, f"it is not a zip archive that can be read ({one_line(error, 100)})", PACK_ANEW) from None
        self._members = self._zip.infolist()
        if len(self._members) > MOST_MEMBERS:
            raise Refused(where, f"it has {len(self._members)} members and at most {MOST_MEMBERS} are read", PACK_ANEW)
        self._alike = Counter(alike(member.filename) for member in self._members)

    def unpack(self, target: Path) -> list[Refused]:
        """Write the wanted members below `target`; return a refusal for each that may not be taken."""
        refusals: list[Refused] = []
        for member in self._members:
            where = f"{self._where}, {quoted(member.filename, LONGEST_WHERE)}"
            if self._left < 0:
                return [
                    *refusals,
                    Refused(where, "the archive unpacks to far more than its size; this member and the rest were left", PACK_ANEW),
                ]
            try:
                self._take(member, where, target)
            except Refused as refusal:
                refusals.append(refusal)
        return refusals

    def _take(self, member: zipfile.ZipInfo, where: str, target: Path) -> None:
        check_name(member.filename, where)
        if member.is_dir():
            return
        if Path(member.filename).suffix.lower() in ARCHIVES:
            raise Refused(
                where,
                "it is an archive in an archive, and is not opened",
                "Put it into the archive folder by itself if a notebook is in it",
            )
        _check_wanted(member.filename, where, self._exercise)
        self._check_member(member, where)
        _write(self._read_member(member, where), target / member.filename, where)

    def _check_member(self, member: zipfile.ZipInfo, where: str) -> None:
        kind = stat.S_IFMT(member.external_attr >> 16)
        bad = (
            ("it is not a plain file", kind not in (0, stat.S_IFREG)),
            ("it is encrypted", member.flag_bits & 1),
            ("it is compressed in an unusual way", member.compress_type not in METHODS),
            ("another member has the same name, or one that differs only in case or accents", self._alike[alike(member.filename)] > 1),
        )
        for what, found in bad:
            if found:
                raise Refused(where, what, PACK_ANEW)

    def _read_member(self, member: zipfile.ZipInfo, where: str) -> bytes:
        try:
            with self._zip.open(member) as file:
                return _read_capped(file, where, self._count)
        except BROKEN as error:
            raise Refused(where, f"it is broken ({one_line(error, 100)})", PACK_ANEW) from None

    def _count(self, size: int) -> None:
        self._left -= size


class _ReadInPieces(io.BufferedIOBase):
    """A file that is never read in large pieces, since an archive itself states how long its table is."""

    def __init__(self, file):
        self._file = file

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        data = self._file.read(MOST_TABLE + 1 if size is None or size < 0 else min(size, MOST_TABLE + 1))
        if len(data) > MOST_TABLE:
            raise zipfile.BadZipFile("its table of contents is too long")
        return data


def _read_capped(file, where: str, count=lambda size: None) -> bytes:
    """Return the content of a file; raises `Refused` when it is too long, whatever was stated."""
    data = bytearray()
    while piece := file.read(MEGABYTE):
        count(len(piece))
        data += piece
        if len(data) > MOST_BYTES:
            raise Refused(
                where,
                f"it has more than {MOST_BYTES // MEGABYTE} MB",
                "Clear the outputs (Edit, Clear Outputs of All Cells), save and hand in again",
            )
    return bytes(data)


def _write(data: bytes, target: Path, where: str) -> None:
    target = target.with_suffix(target.suffix.lower())
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as file:
            file.write(data)
    except (FileExistsError, NotADirectoryError):
        raise Refused(where, "something else of that name was there before it", PACK_ANEW) from None
