"""The report's pictures as SVG that stands in the page: drawn in the colour of its text, so that they serve both themes and print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from markupsafe import Markup

from .analysis import Check, Moment

WIDTH, HEIGHT = 340, 170
LEFT, RIGHT, TOP, FOOT = 34, 326, 12, 142  # of the plotting area
TOO_NEAR = 5  # for two dots


def distribution(counts: Sequence[int], most: float) -> Markup:
    """Return how many learners have points in each tenth of the scale."""
    step, highest = (RIGHT - LEFT) / len(counts), max(counts)
    parts = []
    for number, count in enumerate(counts):
        height = (FOOT - TOP - 14) * count / highest if highest else 0
        x = LEFT + number * step
        if count:
            parts.append(f'<rect x="{x + 1:.1f}" y="{FOOT - height:.1f}" width="{step - 2:.1f}" height="{height:.1f}" class="bar"/>')
            parts.append(_text(x + step / 2, FOOT - height - 4, str(count)))
    described = f"Learners by points, in tenths of the scale from 0 to {most:g}: {', '.join(map(str, counts))}"
    return _picture(described, [*parts, *_along(("0", f"{most / 2:g}", f"{most:g}"), "points")])


@dataclass
class _Dot:
    """Where checks lie that one dot stands for, the others so near that their dots would cover it."""

    x: float
    y: float
    checks: list[tuple[int, Check]] = field(default_factory=list)

    @property
    def label(self) -> str:
        return ", ".join(str(number) for number, _ in self.checks)

    def drawn(self, label_x: float, label_y: float) -> str:
        told = "; ".join(
            f"{check.name}: passed by {check.share:.0%}, discrimination {check.discrimination:.2f}" for _, check in self.checks
        )
        kind = "dot worse" if any(check.concern for _, check in self.checks) else "dot"
        line = f'<path d="M{self.x:.1f} {self.y:.1f}L{label_x:.1f} {label_y:.1f}" class="rule"/>' if abs(label_y - self.y) > 10 else ""
        dot = f'<circle cx="{self.x:.1f}" cy="{self.y:.1f}" r="3.5" class="{kind}"><title>{escape(told)}</title></circle>'
        return line + dot + _text(label_x, label_y + 4, self.label)


def check_map(checks: Sequence[Check]) -> Markup | None:
    """Return each check, by its number in the table, where its difficulty and its discrimination put it; None where none has both."""
    known = [check.discrimination for check in checks if check.discrimination is not None]
    if not known:
        return None
    low = min(0.0, *known)

    def y_of(discrimination: float) -> float:
        return FOOT - (FOOT - TOP) * (discrimination - low) / (1 - low)

    dots: list[_Dot] = []
    for number, check in enumerate(checks, 1):
        if check.discrimination is not None:
            x, y = LEFT + (RIGHT - LEFT) * check.share, y_of(check.discrimination)
            near = [dot for dot in dots if math.dist((dot.x, dot.y), (x, y)) < TOO_NEAR]
            dots += [] if near else [_Dot(x, y)]
            (near or dots[-1:])[0].checks.append((number, check))
    levels = [(1.0, "1"), (0.0, "0"), *([(low, f"{low:.1f}")] if low < -0.2 else [])]
    parts = [_text(LEFT - 6, y_of(level) + 4, text, "end") for level, text in levels]
    parts.append(f'<path d="M{LEFT} {y_of(0):.1f}H{RIGHT}" class="rule"/>')
    parts += [dot.drawn(*label) for dot, label in zip(dots, _beside(dots))]
    described = "Checks by the share of learners who pass them (across) and by discrimination (up)"
    return _picture(described, [*parts, *_along(("0%", "50%", "100%"), "pass it")])


def _beside(dots: Sequence[_Dot]) -> list[tuple[float, float]]:
    """Return where the middle of each dot's label is to be, so that none covers a dot or another label as long as there is room."""
    taken = [(dot.x, dot.y, 4.0, 4.0) for dot in dots]  # middles, and how far each reaches
    found = []
    for dot in dots:
        half = 1 + 3.2 * len(dot.label)
        tries = [
            (dot.x + across, dot.y + up)
            for up in (0, -12, 12, -24, 24, -36, 36, -48, 48)
            for across in (half + 5, -half - 5, 0)
            if up or across
        ]
        inside = [(a, b) for a, b in tries if LEFT < a - half and a + half < WIDTH and TOP - 6 < b < FOOT - 4]
        free = (
            spot for spot in inside if not any(abs(spot[0] - a) < half + wide and abs(spot[1] - b) < 5 + high for a, b, wide, high in taken)
        )
        label = next(free, (inside or tries)[0])
        taken.append((*label, half, 5.0))
        found.append(label)
    return found


def trend(moments: Sequence[Moment], most: float) -> Markup | None:
    """Return the mean of the class from run to run; None where there was one run only."""
    if len(moments) < 2:
        return None
    step = (RIGHT - LEFT) / (len(moments) - 1)
    places = [(LEFT + number * step, FOOT - (FOOT - TOP) * (each.mean / most if most else 0.0)) for number, each in enumerate(moments)]
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    parts = [f'<path d="{line}" class="line"/>', _text(LEFT - 6, TOP + 4, f"{most:g}", "end"), _text(LEFT - 6, FOOT + 4, "0", "end")]
    for (x, y), each in zip(places, moments):
        told = f"{each.at:%Y-%m-%d %H:%M} UTC: mean {each.mean:.1f} of {each.learners} handed in"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="dot"><title>{told}</title></circle>')
    first, last = moments[0], moments[-1]
    described = f"Mean points after each run: {first.mean:.1f} on {first.at:%Y-%m-%d}, {last.mean:.1f} on {last.at:%Y-%m-%d}"
    return _picture(described, [*parts, *_along((f"{first.at:%Y-%m-%d}", "", f"{last.at:%Y-%m-%d}"), "")])


def lean(check: Check) -> Markup:
    """Return a check's discrimination as a bar that leans to one side of zero."""
    value = check.discrimination or 0.0
    x, width = min(32.0, 32 + 30 * value), abs(30 * value)
    bar = f'<rect x="{x:.1f}" y="3" width="{width:.1f}" height="8" class="bar{" worse" if value < 0 else ""}"/>'
    return Markup(f'<svg viewBox="0 0 64 14" width="64" height="14" aria-hidden="true">{bar}<path d="M32 0V14" class="axis"/></svg>')


def _along(labels: tuple[str, str, str], unit: str) -> list[str]:
    """Return the axis at the foot, with labels at both ends and in the middle, and what it counts."""
    ends = [(LEFT, labels[0], "start"), ((LEFT + RIGHT) / 2, labels[1], "middle"), (RIGHT, f"{labels[2]} {unit}".strip(), "end")]
    return [
        f'<path d="M{LEFT} {FOOT + 0.5}H{RIGHT}" class="axis"/>',
        *(_text(x, FOOT + 18, text, place) for x, text, place in ends if text),
    ]


def _text(x: float, y: float, text: str, place: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{place}">{escape(text)}</text>'


def _picture(described: str, parts: Sequence[str]) -> Markup:
    head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(described)}">'
    return Markup(head + "".join(parts) + "</svg>")
