"""Collecting what a learning platform hands over: files and archives of single learners, and the archive of a whole class.

nbgrader's `zip_collect` calls these two plug-ins. The *extractor* takes the exercise's notebooks and scripts out of archives
(`archives.py`). The *collector* says whose each file is:

- What lies in the archive folder is one learner's. A file's own name, an archive's, and those of all folders that it lies in must agree on
  who that is: `ada_single_head.ipynb`, `ada/single_head.ipynb`, `ada.zip` with `single_head.ipynb` in it.
- What lies in the folder `class` there is the instructor's, who put it there: the archive of a whole class, in which names of
  folders and files say whose each file is.
- Where two files are the same learner's, neither is taken.

Every file that is not taken stands with the reason in `not_taken.txt`, beside the archive folder.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin
from nbgrader.utils import parse_utc
from traitlets import Enum, Integer, Unicode

from ..errors import Refused
from ..intake.submission import is_learner
from ..strangers import one_line, quoted
from .archives import NotWanted, alike, before_exercise, taken
from .platforms import PLATFORMS

CLASS = "class"  # the folder for archives of a whole class; no learner can make one, because a file's name has no slash in it
SHOWN, SHOWN_OF_ONE = 30, 3  # refusals on the terminal: of a class's archives, and of one learner's, so that nobody hides the others'
SAY_WHOSE = "Put it into the archive folder under that learner's name alone; an archive of the whole class belongs into its folder `class`; where all names are like this, set FileNameCollectorPlugin.named_regexp"


class Extractor(ExtractorPlugin):
    """Takes the exercise's notebooks and scripts out of archives and leaves everything else."""

    def extract(self, archive_path: str, extracted_path: str) -> None:
        folder, exercise = Path(archive_path), self.parent.coursedir.assignment_id
        refusals: list[Refused] = []
        for path in sorted(folder.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                continue
            inside = path.relative_to(folder)
            refusals += taken(folder, inside, Path(extracted_path) / inside, exercise, inside.parts[0] == CLASS)
        _tell(self, refusals, "w")


@dataclass(frozen=True)
class _Claim:
    """A file, whose it is, and when it was handed in if the platform says so."""

    path: Path  # below the folder of extracted files
    learner: str
    fields: dict

    @property
    def place(self) -> Path:
        return self.path.with_suffix("")


class Collector(FileNameCollectorPlugin):
    """Says whose a file is: by `named_regexp` if one is set, else by its own name and its folders', which must agree."""

    platform = Enum(("", *PLATFORMS), default_value="", help="The learning platform whose names the files have.").tag(config=True)
    zone = Unicode("UTC", help="The time zone of the times in these names.").tag(config=True)
    most_learners = Integer(1000, help="Where files are of more learners than this, none is collected.").tag(config=True)

    def collect(self, submitted_file: str) -> dict | None:
        claim = self._taken.get(Path(submitted_file).relative_to(self._extracted))
        return {**claim.fields, "student_id": claim.learner, "file_id": self._exercise} if claim else None

    @property
    def _exercise(self) -> str:
        return self.parent.coursedir.assignment_id

    @cached_property
    def _extracted(self) -> Path:
        return Path(self.parent._format_collect_path(self.parent.extracted_directory))

    @cached_property
    def _archives(self) -> Path:
        return Path(self.parent._format_collect_path(self.parent.archive_directory))

    @cached_property
    def _taken(self) -> dict[Path, _Claim]:
        """The files that are collected, decided on together when nbgrader asks for the first."""
        refusals: list[Refused] = []
        claims: dict[str, list[_Claim]] = defaultdict(list)
        for path in sorted(p.relative_to(self._extracted) for p in self._extracted.rglob("*") if p.is_file()):
            try:
                claim = self._claim(path)
                claims[alike(claim.learner)].append(claim)
            except Refused as refusal:
                refusals.append(refusal)
        found = {claim.path: claim for several in claims.values() for claim in self._agreed(several, refusals)}
        if len(claims) > self.most_learners:
            refusals += [Refused(quoted(str(path), 200), *self._too_many(len(claims))) for path in found]
            found = {}
        _tell(self, refusals, "a")
        return found

    def _too_many(self, count: int) -> tuple[str, str]:
        return (
            f"the files are of {count} learners, and {self.most_learners} are expected at most",
            f"If your class is as large, collect again with --Collector.most_learners={count}",
        )

    def _agreed(self, claims: list[_Claim], refusals: list[Refused]) -> list[_Claim]:
        """Return the files of one learner that are taken: one, unless the platform says when each was handed in."""
        if len(claims) == 1 or all(claim.fields.get("timestamp") for claim in claims):
            return claims
        if len({claim.place for claim in claims}) == 1:  # a notebook and its script; grading takes the notebook
            first, *rest = sorted(claims, key=lambda claim: claim.path.suffix != ".ipynb")
            refusals += [
                Refused(quoted(str(c.path), 200), f"{first.path.name} beside it was taken", "Nothing has to be done") for c in rest
            ]
            return [first]
        for claim in claims:
            others = ", ".join(quoted(str(other.path), 100) for other in claims if other is not claim and claims.index(other) < 3)
            refusals.append(
                Refused(
                    quoted(str(claim.path), 200),
                    f"there are {len(claims)} files of {claim.learner}'s, and none of them was taken (also {others})",
                    "Leave the right one in the archive folder and collect again",
                )
            )
        return []

    def _claim(self, path: Path) -> _Claim:
        """Return whose a file is; raises `Refused` where names don't say, or don't agree."""
        archive = next((parent for parent in path.parents if (self._archives / f"{parent}.zip").is_file()), None)
        if self.platform:
            fields = self._handed(path if archive is None or self._of_class(path) else archive.with_name(archive.name + path.suffix), path)
        elif self.named_regexp:
            fields = self._platform_says(
                path if archive is None or self._of_class(path) else archive.with_name(archive.name + path.suffix), path
            )
        else:
            fields = {"student_id": unicodedata.normalize("NFC", self._learner_of(path, archive))}
        learner = fields.get("student_id") or ""
        if not is_learner(learner):
            raise Refused(quoted(str(path), 200), f"{quoted(learner)} is not a learner's name", SAY_WHOSE)
        return _Claim(path, learner, fields)

    @staticmethod
    def _of_class(path: Path) -> bool:
        return path.parts[0] == CLASS

    def _handed(self, named: Path, path: Path) -> dict:
        """Return what the name says that the platform gave; raises `Refused` where it is not one of its names."""
        try:
            said = PLATFORMS[self.platform].read(str(named.relative_to(CLASS) if self._of_class(named) else named), self.zone)
        except ValueError:
            raise Refused(quoted(str(path), 200), "its name tells no time that exists", SAY_WHOSE) from None
        if said is None:
            raise Refused(quoted(str(path), 200), f"{self.platform} does not name files like this", SAY_WHOSE)
        if said.late:
            self.log.warning("Late, says %s: %s", self.platform, one_line(said.learner, 80))
        return {"student_id": unicodedata.normalize("NFC", said.learner), **({"timestamp": said.at} if said.at else {})}

    def _platform_says(self, named: Path, path: Path) -> dict:
        """Return what `named_regexp` finds in the name that the platform gave."""
        fields = self._match(str(self._extracted / named)) or {}
        if fields.get("timestamp"):
            try:
                parse_utc(fields["timestamp"])
            except (ValueError, OverflowError):  # nbgrader would end the run
                raise Refused(quoted(str(path), 200), "its name tells no time that exists", SAY_WHOSE) from None
        return fields

    def _learner_of(self, path: Path, archive: Path | None) -> str:
        """Return the one learner whom names point to."""
        names = list(path.parts[:-1])
        if archive is not None and not self._of_class(path) and not any(map(self._before_exercise, archive.parts)):
            raise Refused(quoted(str(path), 200), "nothing in its archive's name says whose it is", SAY_WHOSE)
        if self._of_class(path):  # neither this folder nor the archive's name is a learner's
            names = names[len((archive or Path(CLASS)).parts) :]
            names = [name for name in names if archive is None or name != archive.name]  # as many programs pack it
        named = dict.fromkeys(before for name in (*names, path.stem) if (before := self._before_exercise(name)))
        if len(named) == 1:
            return next(iter(named))
        if not named:
            raise Refused(quoted(str(path), 200), "nothing in its name and its folders' says whose it is", SAY_WHOSE)
        several = ", ".join(map(quoted, list(named)[:5]))
        raise Refused(quoted(str(path), 200), f"its name and its folders tell of different learners ({several})", SAY_WHOSE)

    def _before_exercise(self, name: str) -> str:
        """Return what stands before the exercise's name, or all of it where that is not there: a folder's or an archive's."""
        found = before_exercise(name, self._exercise)
        return name if found is None else found


def _tell(plugin: Extractor | Collector, refusals: list[Refused], mode: str) -> None:
    """Write down what was not taken, all of it; show the first of what somebody may miss."""
    path = Path(plugin.parent._format_collect_path(plugin.parent.archive_directory)).with_name("not_taken.txt")
    with open(path, mode, encoding="utf-8") as file:
        file.writelines(f"{one_line(refusal)}\n" for refusal in refusals)
    shown, by_source = 0, Counter[str]()
    for refusal in refusals:
        source = re.split("[/,]", refusal.where)[0].strip("'")
        by_source[source] += not isinstance(refusal, NotWanted)
        if not isinstance(refusal, NotWanted) and by_source[source] <= (SHOWN if source == CLASS else SHOWN_OF_ONE):
            plugin.log.error("Not collected: %s", one_line(refusal))
            shown += 1
    if len(refusals) > shown:
        plugin.log.warning("%s files were left where they are; %s names them all, with reasons", len(refusals), path)
