"""The few shapes that a small picture needs, as SVG: sharp at any size, and the same bytes each time."""

from __future__ import annotations

from html import escape

INK, FAINT, PAPER = "#1f2933", "#9aa5b1", "#ffffff"
SHADES = ((0xEF, 0xF4, 0xFA), (0x7F, 0xB2, 0xD9), (0x08, 0x45, 0x7E))  # the book's, from pale to deep
FONT = "DejaVu Sans, Verdana, Arial, sans-serif"


def shade(share: float) -> str:
    """Return the colour of a share of one; other numbers get the colour of the nearest end."""
    place = min(max(share, 0.0), 1.0) * (len(SHADES) - 1)
    low = min(int(place), len(SHADES) - 2)
    mixed = (round(a + (b - a) * (place - low)) for a, b in zip(SHADES[low], SHADES[low + 1]))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def box(x: float, y: float, width: float, height: float, fill: str, line: str = PAPER) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" stroke="{line}"/>'


def grid(x: float, y: float, cells: tuple[int, int], size: tuple[float, float], fill: str, line: str) -> str:
    """Return a table of empty cells; `cells` and `size` are across and down."""
    width, height = (count * each for count, each in zip(cells, size))
    lines = [f"M{x + n * size[0]:g} {y:g}v{height:g}" for n in range(1, cells[0])] + [
        f"M{x:g} {y + n * size[1]:g}h{width:g}" for n in range(1, cells[1])
    ]
    inside = f'<path d="{"".join(lines)}" stroke="{line}"/>' if lines else ""
    return box(x, y, width, height, fill, line) + inside


def label(x: float, y: float, text: str, size: float = 12, fill: str = INK, more: str = "") -> str:
    """Return text that is centred on x, with its foot at y."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="middle" fill="{fill}"{more}>{escape(text)}</text>'


def width_of(text: str, size: float = 12) -> float:
    """Return about how wide a text is; its letters' own widths depend on the reader's machine."""
    return 0.62 * size * len(text)


def picture(width: float, height: float, parts: list[str]) -> str:
    """Return the whole file: the parts on a white sheet, which serves dark pages too."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" font-family="{FONT}">'
    return "\n".join([head, box(0, 0, width, height, PAPER), *parts, "</svg>"]) + "\n"
