"""Keep old addresses alive: where a page was lies a small one that leads to the new one, and a renamed place keeps its old name too.

`moved` in `_config.yml` has them all: `book/old: book/new` for a page, `book/page#old: book/page#new` for a place on a page.
A page that leads on works from `file://` and below any path. With scripts it hands on the fragment, without them it is a refresh, and where
that is switched off, a link. A place needs no script: its old name becomes one more anchor of the page.

sphinx-reredirects writes pages that lead on, too, but without a link, and it knows neither places nor whether the new page is there.
"""

import html
from pathlib import Path

from sphinx.util import logging
from sphinx.util.osutil import relative_uri

# The refresh is for readers without scripts alone: it would race the script, and lose the fragment.
PAGE = """\
<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<title>{title}</title>{canonical}
<noscript><meta http-equiv="refresh" content="0; url={address}" /></noscript>
<script>
const to = new URL("{address}", location.href);
to.search = location.search;
to.hash = location.hash || to.hash;
location.replace(to);
</script>
</head>
<body><p>This page has moved: <a href="{address}">{title}</a></p></body>
</html>
"""

log = logging.getLogger(__name__)


def pages_of(moved: dict[str, str]) -> dict[str, str]:
    """Return the pages that have moved."""
    return {old: new for old, new in moved.items() if "#" not in old}


def places_of(moved: dict[str, str], page: str) -> dict[str, str]:
    """Return the anchors that were renamed on a page, old to new."""
    start = f"{page}#"
    return {
        old.removeprefix(start): new.removeprefix(start) for old, new in moved.items() if old.startswith(start) and new.startswith(start)
    }


def check(app, env):
    """Warn of what leads nowhere; whether a place is there, only its page knows."""
    for old, new in app.config.moved.items():
        page, target = old.split("#")[0], new.split("#")[0]
        if target not in env.found_docs:
            log.warning("moved: %s leads to %s, and there is no such page", old, target)
        elif "#" in old and (page != target or "#" not in new):
            log.warning("moved: %s is a place and must lead to a place on the same page, not to %s", old, new)
        elif "#" not in old and page in env.found_docs:
            log.warning("moved: %s leads to %s, but it is a page of the book", old, new)


def keep_places(app, doctree, page):
    """Give each renamed place of a page its old name too."""
    places = places_of(app.config.moved, page)
    if not places:
        return
    named = {name: node for node in doctree.findall(lambda node: hasattr(node, "attributes")) for name in node["ids"]}
    for old, new in places.items():
        if new not in named or old in named:
            log.warning("moved: %s has no place %r that could be called %r too", page, new, old, location=page)
        else:
            named[new]["ids"].append(old)


def leading_on(app, old: str, new: str) -> str:
    """Return the page that lies at an old address."""
    page, _, place = new.partition("#")
    uri = app.builder.get_target_uri(page)
    fragment = f"#{place}" if place else ""
    base = app.config.html_baseurl
    canonical = f'\n<link rel="canonical" href="{html.escape(base.rstrip("/") + "/" + uri)}" />' if base else ""
    return PAGE.format(
        language=app.config.language,
        title=html.escape(app.env.titles[page].astext()),
        canonical=canonical,
        address=html.escape(relative_uri(app.builder.get_target_uri(old), uri) + fragment),
    )


def write_pages(app, error):
    """Write a page at each old address; one that is wrong has been warned of."""
    if error is not None or app.builder.format != "html":
        return
    for old, new in pages_of(app.config.moved).items():
        if new.split("#")[0] in app.env.found_docs and old not in app.env.found_docs:
            path = Path(app.outdir) / app.builder.get_target_uri(old)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(leading_on(app, old, new), encoding="utf-8")


def setup(app):
    """Register the table; a change of it writes every page again."""
    app.add_config_value("moved", {}, "html", types=(dict,))
    app.connect("env-check-consistency", check)
    app.connect("doctree-resolved", keep_places)
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
