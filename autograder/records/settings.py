"""What a course decides for itself: course.toml in its folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..errors import CannotGoOn
from ..exercise.reading import all_names

FILE = "course.toml"
PLATFORMS = ("moodle", "canvas", "blackboard", "classroom")
PENALTIES = ("none", "zero")
COUNTS = ("last", "best")
SHOWN = ("never", "after the deadline", "always")


KNOWN = (
    "title",
    "exercises",
    "deadlines",
    "points",
    "consequences",
    "resubmissions",
    "late",
    "platform",
    "time_zone",
    "feedback",
    "notebook",
    "report",
)


@dataclass(frozen=True)
class Settings:
    """A course's decisions, each with what holds where it says nothing."""

    title: str = "Attention by Hand"
    exercises: tuple[str, ...] = ()  # those that count, in their order
    deadlines: Mapping[str, datetime] = field(default_factory=dict)  # in UTC and without a time zone, as the gradebook has them
    points: Mapping[str, float] = field(default_factory=dict)  # of a whole exercise; its checks share them out as they share out their own
    consequences: float = (
        0.0  # the share of its points that a check gets that fails for a mistake which cost another check its points already
    )
    resubmissions: str = "last"  # which of a learner's submissions counts
    platform: str = ""  # the learning platform whose archives are collected
    zone: str = "UTC"  # of the times in its names
    late: str | None = None  # what late work loses; None leaves that to nbgrader's own settings
    reference: str = "never"  # when feedback shows the reference answer
    reveals: bool | None = (
        None  # whether notebooks show right answers when all checks have passed; None: those of exercises/ do, those of the exchange don't
    )
    names: bool = True  # whether the report, its table and the terminal show learners' names

    def shows_reference(self, exercise: str, now: datetime) -> bool:
        """Return whether feedback on an exercise shows the reference answer at that time (UTC)."""
        if self.reference != "after the deadline":
            return self.reference == "always"
        return exercise in self.deadlines and now > self.deadlines[exercise]


def read_settings(root: Path) -> Settings:
    """Return the settings in a course's folder; raises `CannotGoOn` with the place of what cannot be understood."""
    path = root / FILE
    if not path.is_file():
        return Settings(exercises=tuple(all_names()))
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        return _settings(found)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CannotGoOn(f"{path} is not TOML: {error}") from None
    except ValueError as error:
        raise CannotGoOn(f"{path}: {error}") from None


def _settings(found: dict) -> Settings:
    _known(found, KNOWN, "")
    feedback, report = _table(found, "feedback", ("reference",)), _table(found, "report", ("names",))
    notebook = _table(found, "notebook", ("reference",))
    return Settings(
        title=_typed(found.get("title", Settings.title), str, "title", "text"),
        exercises=_exercises(found),
        deadlines={name: _moment(each, f"deadlines.{name}") for name, each in _by_exercise(found, "deadlines").items()},
        points={name: _number(each, f"points.{name}") for name, each in _by_exercise(found, "points").items()},
        consequences=_share(found.get("consequences", 0.0), "consequences"),
        resubmissions=_one_of(found.get("resubmissions", "last"), COUNTS, "resubmissions"),
        platform=_one_of(found["platform"], PLATFORMS, "platform") if "platform" in found else "",
        zone=_zone(found.get("time_zone", "UTC")),
        late=_one_of(found["late"], PENALTIES, "late") if "late" in found else None,
        reference=_one_of(feedback.get("reference", "never"), SHOWN, "feedback.reference"),
        reveals=_typed(notebook["reference"], bool, "notebook.reference", "true or false") if "reference" in notebook else None,
        names=_typed(report.get("names", True), bool, "report.names", "true or false"),
    )


def _exercises(found: dict) -> tuple[str, ...]:
    names = _typed(found.get("exercises", all_names()), list, "exercises", 'a list, such as ["similarity", "single_head"]')
    for name in names:
        _exercise(name, "exercises")
    if not names:
        raise ValueError("`exercises` is empty; leave it out, and all of them count")
    return tuple(dict.fromkeys(names))


def _by_exercise(found: dict, key: str) -> dict:
    table = _table(found, key, None)
    for name in table:
        _exercise(name, key)
    return table


def _table(found: dict, key: str, known: tuple[str, ...] | None) -> dict:
    table = _typed(found.get(key, {}), dict, key, f"a table, which begins with the line [{key}]")
    if known is not None:
        _known(table, known, f"{key}.")
    return table


def _known(table: dict, names: tuple[str, ...], before: str) -> None:
    for name in table:
        if name not in names:
            raise ValueError(f"there is no setting `{before}{name}`{_meant(name, names)}; there are {', '.join(names)}")


def _exercise(name: object, key: str) -> None:
    if name not in all_names():
        raise ValueError(f"`{key}` names {name!r}, and no exercise is called so{_meant(str(name), all_names())}")


def _meant(name: str, names) -> str:
    close = get_close_matches(name, names, 1)
    return f" (did you mean `{close[0]}`?)" if close else ""


def _typed(value, kind: type, key: str, wanted: str):
    if not isinstance(value, kind):
        raise ValueError(f"`{key}` is {value!r} and must be {wanted}")
    return value


def _one_of(value, allowed: tuple[str, ...], key: str) -> str:
    if value not in allowed:
        raise ValueError(f"`{key}` is {value!r} and must be one of {', '.join(map(repr, allowed))}")
    return value


def _number(value, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e6:
        raise ValueError(f"`{key}` is {value!r} and must be a number of points above 0")
    return float(value)


def _share(value, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError(f"`{key}` is {value!r} and must be a share from 0 to 1")
    return float(value)


def _zone(name) -> str:
    try:
        ZoneInfo(name)
    except (TypeError, ValueError, ZoneInfoNotFoundError):
        raise ValueError(f'`time_zone` is {name!r} and must be a zone\'s name, such as "Europe/Berlin"') from None
    return name


def _moment(value, key: str) -> datetime:
    """Return a deadline in UTC. A day alone lasts until its end; without a time zone it is UTC."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time(23, 59, 59))
    if not isinstance(value, datetime):
        raise ValueError(f"`{key}` is {value!r} and must be a moment, such as 2026-12-01T22:00:00+01:00, or a day, such as 2026-12-01")
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
