"""Publish only what a page asks for.

The theme ships two thousand icons, two formats of each font, source maps, scripts for live cells, and styles for everything that a site might
have. A reader on a phone would load most of it. The icon fonts are cut down to the icons that occur, and the style sheets to the rules that
can match something.
"""

import logging
import re
import zlib
from pathlib import Path

import tinycss2
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
# Style sheets of the book have no rule too many, or so we hope.
OURS = {"site.css", "explore.css"}

ICON_RULE = re.compile(r'((?:\.fa-[a-z0-9-]+:{1,2}before,?)+)\{content:"\\([0-9a-f]+)"\}')
ICON_NAME = re.compile(r"\bfa-[a-z0-9-]+")
ESCAPED = re.compile(r'"\\(f[0-9a-f]{3})"')
# Font Awesome lives in Unicode's private use area.
PRIVATE = re.compile("[\ue000-\uf8ff]")

# The rules inside these are looked at one by one; those of any other (@font-face, @keyframes) belong together.
CONDITIONS = {"media", "supports", "layer", "container"}
NAMES = re.compile(r'(?:class|id)="([^"]*)"')
INLINE = re.compile(r"<script[^>]*>([^<]+)")
WORDS = re.compile(r"[\w-]+")


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


def names_in(pages: list[str], scripts: list[str]) -> set[str]:
    """Return every class and id of the pages, and every word of the scripts, which may set one of them."""
    found = {name for page in pages for names in set(NAMES.findall(page)) for name in names.split()}
    inline = {script for page in pages for script in INLINE.findall(page)}
    return found.union(*map(WORDS.findall, [*inline, *scripts]))


def purged(css: str, names: set[str]) -> str:
    """Return a style sheet without the rules that ask for a class or an id that is nowhere."""
    return "".join(_kept(tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True), names))


def _kept(rules, names: set[str]):
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [tinycss2.serialize(each) for each in _split(rule.prelude) if _can_match(each, names)]
            if selectors:
                yield f"{','.join(selectors)}{{{tinycss2.serialize(rule.content)}}}\n"
        elif rule.type == "at-rule" and rule.lower_at_keyword in CONDITIONS and rule.content is not None:
            inner = "".join(_kept(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), names))
            if inner:
                yield f"@{rule.lower_at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}\n"
        else:
            yield f"{rule.serialize()}\n"


def _split(prelude: list) -> list[list]:
    """Return the selectors of a rule."""
    parts = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _can_match(selector: list, names: set[str]) -> bool:
    """Say whether all classes and ids of a selector are somewhere; what is in `:not()` or `:is()` need not be."""
    asked = [token.value for token in selector if token.type == "hash"]
    asked += [after.value for token, after in zip(selector, selector[1:]) if token == "." and after.type == "ident"]
    return names.issuperset(asked)


def purge(site: Path):
    """Purge the style sheets that others made, and have the pages ask for them by what is in them now: a reader's browser keeps the old ones."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    names, versions = names_in(list(pages.values()), _texts(site / "_static", "*.js")), {}
    for sheet in sorted((site / "_static").rglob("*.css")):
        if sheet.name not in OURS:
            css = purged(sheet.read_text(encoding="utf-8"), names)
            sheet.write_text(css, encoding="utf-8")
            versions[sheet.name] = f"{zlib.crc32(css.encode()):08x}"
    asked = re.compile(rf"({'|'.join(map(re.escape, versions))})\?(v|digest)=[0-9a-f]+")
    for path, before in pages.items():
        after = asked.sub(lambda match: f"{match[1]}?{match[2]}={versions[match[1]]}", before)
        if after != before:
            path.write_text(after, encoding="utf-8")


def delete_orphans(site: Path):
    """Delete figures of earlier builds: a figure's name changes with its content."""
    pages = "".join(_texts(site, "*.html"))
    for image in (site / "_images").glob("*"):
        if image.name not in pages:
            image.unlink()


def slim(app, error):
    """Delete what no page asks for, purge the style sheets, and shrink the icon fonts."""
    if error is not None or app.builder.format != "html":
        return
    # One line for every table of every font would bury the warnings of the build.
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    site = Path(app.outdir)
    for file in {file for pattern in NEVER_ASKED_FOR for file in site.glob(pattern)}:
        file.unlink()
    delete_orphans(site)
    purge(site)
    css = "\n".join(_texts(site / "_static", "*.css"))
    code_points = named_icons(css, _texts(site, "*.html", "*.js")) | drawn_icons(css)
    for font_file in sorted((site / WEBFONTS).glob("*.woff2")):
        shrink(font_file, code_points)


def setup(app):
    """Run after the pages are repaired: only then is it certain which icons occur."""
    app.connect("build-finished", slim, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
