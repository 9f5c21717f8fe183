"""Take the picture of README.md again, from the built site: `.venv/bin/python book/pictures/take.py` after `make site`."""

import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "_build" / "html" / "book" / "softmax.html"
SECTION = "one-row-by-hand"
COLOURS = 64  # enough for text and two inks, at a third of the bytes


def take(target: Path) -> None:
    """Write a PNG of the section as it looks on a desk."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 720}, color_scheme="light")
        page.goto(PAGE.as_uri())
        page.evaluate("document.fonts.ready")
        page.evaluate(f"document.getElementById('{SECTION}').scrollIntoView({{behavior: 'instant'}})")
        page.wait_for_timeout(500)  # the theme marks the place in its table of contents when scrolling has ended
        page.screenshot(path=target)
        browser.close()
    with Image.open(target) as shot:
        shot.convert("RGB").quantize(COLOURS).save(target, optimize=True)


if __name__ == "__main__":
    take(HERE / "site.png")
