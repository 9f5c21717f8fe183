"""Draw the map of the course, and list which chapter teaches which topic.

The order comes from `_toc.yml`, what builds on what and the paths from `book/course.yml`, an exercise's chapter and minutes from its
`exercise.json`, and the topics from the comments of the chapters (`% S01`), as the tests of chapters read them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as xml

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

PATHS = ("afternoon", "week", "term")
WORDS_A_MINUTE = 60  # of a text with formulas, code that is run and questions that are tried
ROW, LEFT, WIDTH = 25, 50, 372  # in pixels: a phone shows the map in its own size
HEAD = 30  # how far down the heads of the columns stand
MINUTES, MARKS = 284, (304, 332, 359)  # where the columns on the right end, or have their middle


@dataclass(frozen=True)
class Stop:
    """A page on the map."""

    page: str
    title: str
    minutes: int
    paths: tuple[str, ...]  # that it belongs to
    after: tuple[str, ...] = ()  # the pages of the chapters that it builds on
    is_exercise: bool = False


@dataclass(frozen=True)
class Part:
    """A part of the book, with its chapters, each followed by its exercises."""

    title: str
    stops: list[Stop]


def parts_of(root: Path) -> list[Part]:
    """Return the course as it stands in the book's folder."""
    course = yaml.safe_load((root / "book" / "course.yml").read_text(encoding="utf-8"))
    contents = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    pages = [Path(page["file"]) for part in contents["parts"] for page in part["chapters"]]
    exercises = [_facts(root, page.name) for page in pages if page.parts[0] == "exercises"]
    parts = []
    for part in contents["parts"]:
        names = [page["file"].removeprefix("book/") for page in part["chapters"]]
        stops = [stop for name in names if name in course["chapters"] for stop in _stops(root, name, course, exercises)]
        parts += [Part(part["caption"], stops)] if stops else []
    return parts


def _stops(root: Path, name: str, course: dict, exercises: list[dict]) -> list[Stop]:
    about = course["chapters"][name]
    text = (root / "book" / f"{name}.md").read_text(encoding="utf-8")
    chapter = Stop(f"book/{name}", _subject(text), _minutes(text), _paths(about["path"]), tuple(f"book/{each}" for each in about["after"]))
    return [chapter] + [
        Stop(
            f"exercises/{each['name']}/{each['name']}",
            each["title"],
            each["minutes"],
            _paths(course["exercises"].get(each["name"], PATHS[-1])),
            is_exercise=True,
        )
        for each in exercises
        if each["chapter"] == name
    ]


def _facts(root: Path, name: str) -> dict:
    return json.loads((root / "exercises" / name / "exercise.json").read_text(encoding="utf-8"))


def _paths(shortest: str) -> tuple[str, ...]:
    return PATHS[PATHS.index(shortest) :]


def _subject(text: str) -> str:
    """Return a chapter's title without its question."""
    return re.search(r"^# ([^:\n]+)", text, re.MULTILINE)[1]


def _minutes(text: str) -> int:
    """Return the minutes that a chapter takes, to the next five."""
    prose = re.sub(r"^```.*?^```|\$\$.*?\$\$", "", text, flags=re.DOTALL | re.MULTILINE)
    return 5 * round(len(prose.split()) / WORDS_A_MINUTE / 5)


def drawing(parts: list[Part], address_of) -> str:
    """Return the map as SVG; `address_of` gives the address of a page."""
    places = _places(parts)
    height = max(places.values()) + ROW
    svg = xml.Element(
        "svg", {"class": "course-map", "viewBox": f"0 0 {WIDTH} {height:g}", "role": "group", "aria-label": "Map of the course"}
    )
    _write(svg, "minutes", MINUTES, HEAD, "head end")
    for path, at, up in zip(PATHS, MARKS, (14, 0, 14)):  # side by side there is no room for them
        _write(svg, path, at, HEAD - up, "head middle")
    for part in parts:
        for stop in part.stops:
            _curves(svg, stop, places)
    for part in parts:
        _write(svg, part.title, LEFT - 8, places[part.stops[0].page] - ROW + 5, "part")
        for stop in part.stops:
            _draw(svg, stop, places[stop.page], address_of(stop.page))
    return xml.tostring(svg, encoding="unicode")


def _places(parts: list[Part]) -> dict[str, float]:
    """Return how far down each page stands."""
    places, down = {}, HEAD + ROW / 2
    for part in parts:
        down += ROW
        for stop in part.stops:
            down += ROW
            places[stop.page] = down
    return places


def _curves(svg: xml.Element, stop: Stop, places: dict[str, float]) -> None:
    """Draw a curve from each chapter to one that builds on it; the further, the wider."""
    for before in stop.after:
        high, low = places[before], places[stop.page]
        wide = min(LEFT - 6, 10 + (low - high) / 6)
        xml.SubElement(svg, "path", {"d": f"M{LEFT} {high:g}C{LEFT - wide * 1.3:g} {high:g} {LEFT - wide * 1.3:g} {low:g} {LEFT} {low:g}"})


def _draw(svg: xml.Element, stop: Stop, down: float, address: str) -> None:
    link = xml.SubElement(svg, "a", {"href": address})
    if stop.is_exercise:
        xml.SubElement(link, "rect", {"x": f"{LEFT + 14}", "y": f"{down - 5:g}", "width": "10", "height": "10"})
    else:
        xml.SubElement(link, "circle", {"cx": f"{LEFT}", "cy": f"{down:g}", "r": "6"})
    _write(
        link,
        stop.title.replace(" (optional)", ""),
        LEFT + (30 if stop.is_exercise else 13),
        down + 4,
        "exercise" if stop.is_exercise else "",
    )
    _write(svg, str(stop.minutes), MINUTES, down + 4, "end")
    for path, at in zip(PATHS, MARKS):
        if path in stop.paths:
            mark = xml.SubElement(svg, "circle", {"class": "mark", "cx": f"{at}", "cy": f"{down:g}", "r": "4"})
            xml.SubElement(mark, "title").text = f"{stop.title}: {path}"


def _write(parent: xml.Element, text: str, x: float, y: float, kind: str) -> None:
    xml.SubElement(parent, "text", {"x": f"{x:g}", "y": f"{y:g}", **({"class": kind} if kind else {})}).text = text


def summary(parts: list[Part], promises: dict[str, str]) -> list[tuple[str, str]]:
    """Return for each path its name and a sentence: how much there is, how long it takes, and what you can do then."""
    lines = []
    for path in PATHS:
        stops = [stop for part in parts for stop in part.stops if path in stop.paths]
        exercises = sum(stop.is_exercise for stop in stops)
        hours = round(sum(stop.minutes for stop in stops) / 60)
        plural = "s" * (exercises > 1)
        lines.append((path, f"{len(stops) - exercises} chapters and {exercises} exercise{plural}, about {hours} hours: {promises[path]}."))
    return lines


class Drawn(nodes.General, nodes.Element):
    """The map in the document, drawn when the page is written, with addresses relative to it."""


class CourseMap(SphinxDirective):
    """`{course-map}`: the paths in words, and the map."""

    def run(self):
        """Return both."""
        root = Path(self.env.srcdir)
        for file in ("_toc.yml", "book/course.yml"):
            self.env.note_dependency(str(root / file))
        promises = yaml.safe_load((root / "book" / "course.yml").read_text(encoding="utf-8"))["paths"]
        items = [
            nodes.definition_list_item(
                "", nodes.term("", f"{'An' if path[0] in 'aeiou' else 'A'} {path}"), nodes.definition("", nodes.paragraph("", words))
            )
            for path, words in summary(parts_of(root), promises)
        ]
        return [nodes.definition_list("", *items), Drawn()]


def visit_drawn(translator, node):
    """Write the map as SVG."""
    builder = translator.builder
    here = builder.get_target_uri(builder.current_docname)
    svg = drawing(parts_of(Path(builder.srcdir)), lambda page: relative_uri(here, builder.get_target_uri(page)))
    translator.body.append(f'<figure class="course-map">{svg}</figure>')
    raise nodes.SkipNode


def leave_out(translator, node):
    """Leave the map out where it can't be drawn; the contents say the same."""
    raise nodes.SkipNode


def taught(root: Path) -> dict[str, list[str]]:
    """Return for each topic, and each error of the documents, the chapters that teach it, in the book's order."""
    topics = dict.fromkeys(yaml.safe_load((root / "book" / "topics.yml").read_text(encoding="utf-8")), ())
    found: dict[str, list[str]] = {topic: [] for topic in topics}
    for part in parts_of(root):
        for stop in part.stops:
            if not stop.is_exercise:
                text = (root / f"{stop.page}.md").read_text(encoding="utf-8")
                for row in sorted(set(re.findall(r"^% ([SE]\d\d)\b", text, flags=re.MULTILINE))):
                    found.setdefault(row, []).append(Path(stop.page).name)
    return found


class Topics(SphinxDirective):
    """`{topics}`: a list of the topics, each with the chapters that teach it."""

    def run(self):
        """Return the list; a topic without a chapter is left out, and a test knows which these are."""
        root = Path(self.env.srcdir)
        self.env.note_dependency(str(root / "book" / "topics.yml"))
        words = yaml.safe_load((root / "book" / "topics.yml").read_text(encoding="utf-8"))
        places = taught(root)
        items = []
        for topic, title in words.items():
            if places[topic]:
                links = ", ".join(f"{{doc}}`{self._title(name)} </book/{name}>`" for name in places[topic])
                found, _ = self.state.inline_text(f"{title}: {links}", self.lineno)
                items.append(nodes.list_item("", nodes.paragraph("", "", *found)))
        return [nodes.bullet_list("", *items)]

    def _title(self, name: str) -> str:
        path = Path(self.env.srcdir) / "book" / f"{name}.md"
        self.env.note_dependency(str(path))
        return _subject(path.read_text(encoding="utf-8"))


def setup(app):
    """Register the directives."""
    app.add_node(Drawn, html=(visit_drawn, None), latex=(leave_out, None), text=(leave_out, None))
    app.add_directive("course-map", CourseMap)
    app.add_directive("topics", Topics)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
