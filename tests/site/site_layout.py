"""Where the site lies and which pages it has."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
MATRIX = ROOT / "_build" / "matrix.json"

ADDRESS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["html"].get(
    "baseurl", ""
)  # where it is published, if that is known

WIDTHS = {"phone": 390, "desk": 1400}


def page_names() -> list[str]:
    """Return every page of the table of contents, in the reader's order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *chapters]
