"""Publish only what a page asks for.

The theme ships two thousand icons, two formats of each font, source maps, and scripts for live cells. A reader on a
phone would load most of it. The icon fonts are cut down to the icons that occur.
"""

import logging
import re
from pathlib import Path

from fontTools import subset

WEBFONTS = "_static/vendor/fontawesome/webfonts"
NEVER_ASKED_FOR = [
    "_static/**/*.map",
    "_static/scripts/fontawesome*",
    "_static/sphinx-thebe.*",
    # Templates that the theme keeps among its static files.
    "_static/*webpack-macros.html",
    # A second format of what the WOFF2 files hold.
    f"{WEBFONTS}/*.ttf",
]

ICON_RULE = re.compile(r'((?:\.fa-[a-z0-9-]+:{1,2}before,?)+)\{content:"\\([0-9a-f]+)"\}')
ICON_NAME = re.compile(r"\bfa-[a-z0-9-]+")
ESCAPED = re.compile(r'"\\(f[0-9a-f]{3})"')
# Font Awesome lives in Unicode's private use area.
PRIVATE = re.compile("[\ue000-\uf8ff]")


def named_icons(css: str, texts: list[str]) -> set[int]:
    """Return the code points of the icons whose class names occur in the texts."""
    used = {name for text in texts for name in ICON_NAME.findall(text)}
    rules = ICON_RULE.findall(css)
    return {int(code, 16) for selector, code in rules if used & set(ICON_NAME.findall(selector))}


def drawn_icons(css: str) -> set[int]:
    """Return the code points that style sheets draw directly, outside Font Awesome's own table."""
    rest = ICON_RULE.sub("", css)
    return {int(code, 16) for code in ESCAPED.findall(rest)} | {ord(sign) for sign in PRIVATE.findall(rest)}


def _texts(folder: Path, *patterns: str) -> list[str]:
    files = sorted(file for pattern in patterns for file in folder.rglob(pattern))
    return [file.read_text(encoding="utf-8") for file in files]


def shrink(font_file: Path, code_points: set[int]):
    """Cut the font down to the code points, in place."""
    options = subset.Options(flavor="woff2", ignore_missing_unicodes=True)
    # A font that records when it was cut would differ from build to build.
    with subset.load_font(str(font_file), options) as font:
        font.recalcTimestamp = False
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=code_points)
        subsetter.subset(font)
        subset.save_font(font, str(font_file), options)


def delete_orphans(site: Path):
    """Delete figures of earlier builds: a figure's name changes with its content."""
    pages = "".join(_texts(site, "*.html"))
    for image in (site / "_images").glob("*"):
        if image.name not in pages:
            image.unlink()


def slim(app, error):
    """Delete what no page asks for and shrink the icon fonts."""
    if error is not None or app.builder.format != "html":
        return
    # One line for every table of every font would bury the warnings of the build.
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    site = Path(app.outdir)
    for file in {file for pattern in NEVER_ASKED_FOR for file in site.glob(pattern)}:
        file.unlink()
    delete_orphans(site)
    css = "\n".join(_texts(site / "_static", "*.css"))
    code_points = named_icons(css, _texts(site, "*.html", "*.js")) | drawn_icons(css)
    for font_file in sorted((site / WEBFONTS).glob("*.woff2")):
        shrink(font_file, code_points)


def setup(app):
    """Run after the pages are repaired: only then is it certain which icons occur."""
    app.connect("build-finished", slim, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
