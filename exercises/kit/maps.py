"""Two maps side by side, what came and what was expected: the eye sees a pattern before it reads a number."""

from __future__ import annotations

from base64 import b64encode
from html import escape

import torch
from torch import Tensor

from .outcome import Wrong
from .svg import INK, box, label, picture, shade, width_of

MOST_ROWS, MOST_COLUMNS = 12, 12
WITH_NUMBERS = 6  # columns; narrower cells are too small for a number
TOP, GAP, EDGE = 22, 36, 6


def maps(error: Exception | None) -> str:
    """Return the maps of a failed comparison as an HTML image; nothing where there is none to draw.

    Drawn are tensors of shares of one, or of yes and no: weights, masks, and outputs that show the weights.
    """
    if not isinstance(error, Wrong) or not (_is_map(error.came) and _is_map(error.expected) and _are_shares(error.expected)):
        return ""
    came, expected = _tables(error.came, error.expected)
    if max(came.shape[0], expected.shape[0]) > MOST_ROWS or max(came.shape[1], expected.shape[1]) > MOST_COLUMNS:
        return ""
    drawn = b64encode(_side_by_side(came, expected).encode()).decode()
    # As an image it can hold no script, and a reader who cannot see it gets a description.
    return f"<img style='display:block;max-width:100%;margin:6px 0' alt='{escape(_described(error.what, came, expected))}' src='data:image/svg+xml;base64,{drawn}'>"


def _is_map(value) -> bool:
    is_plain = (
        isinstance(value, Tensor) and value.layout is torch.strided and not (value.is_complex() or value.is_meta or value.is_quantized)
    )
    return is_plain and value.ndim > 0 and value.numel() > 1


def _are_shares(expected: Tensor) -> bool:
    return bool(((expected >= 0) & (expected <= 1)).all() and expected.any())


def _tables(came: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    """Return one table of each: of a batch the first in which they differ."""
    place = (0,) * (expected.ndim - 2)
    if came.shape == expected.shape:
        off = ~torch.isclose(came.double(), expected.double(), rtol=1e-3, atol=1e-3)
        place = tuple(off.nonzero()[0].tolist())[: len(place)] if off.any() else place
    return _table(came, place), _table(expected, place)


def _table(value: Tensor, place: tuple[int, ...]) -> Tensor:
    value = torch.atleast_2d(value.detach().double())
    place = place if value.ndim == len(place) + 2 and all(p < n for p, n in zip(place, value.shape)) else (0,) * (value.ndim - 2)
    return value[place]


def _side_by_side(came: Tensor, expected: Tensor) -> str:
    has_numbers = max(came.shape[1], expected.shape[1]) <= WITH_NUMBERS
    size = (44.0, 24.0) if has_numbers else (16.0, 16.0)
    parts: list[str] = []
    left, foot = float(EDGE), 0.0
    for title, table in (("found", came), ("expected", expected)):
        width = max(table.shape[1] * size[0], width_of(title))
        parts += [label(left + width / 2, TOP - 7, title), *_cells(table, left, size, has_numbers)]
        left, foot = left + width + GAP, max(foot, TOP + table.shape[0] * size[1])
    return picture(left - GAP + EDGE, foot + EDGE, parts)


def _cells(table: Tensor, left: float, size: tuple[float, float], has_numbers: bool):
    width, height = size
    for row, numbers in enumerate(table.tolist()):
        for column, number in enumerate(numbers):
            x, y, known = left + column * width, TOP + row * height, number == number
            yield box(x, y, width, height, shade(number) if known else "#ffd9b8")
            if has_numbers or not known:
                ink = "#ffffff" if known and number > 0.55 else INK
                yield label(x + width / 2, y + height / 2 + 4, _number(number), 11 if has_numbers else 8, ink)


def _number(number: float) -> str:
    short = f"{number:.2f}" if abs(number) < 1000 else f"{number:.0e}"
    return "nan" if number != number else short.rstrip("0").rstrip(".") if "." in short else short


def _described(what: str, came: Tensor, expected: Tensor) -> str:
    return f"{what} as two maps, darker is more. Found: {_rows(came)}. Expected: {_rows(expected)}."


def _rows(table: Tensor) -> str:
    if table.shape[1] > WITH_NUMBERS:
        return f"{table.shape[0]} rows of {table.shape[1]}"
    return "; ".join(" ".join(map(_number, row)) for row in table.tolist())
