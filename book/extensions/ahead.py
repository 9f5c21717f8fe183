"""Run the code of several chapters side by side, before Sphinx reads them one after the other.

myst-nb runs a chapter when it reads it, unless its outputs are in the cache. So they are put there first, by myst-nb's own means. Where
a chapter fails, nothing is kept: myst-nb runs it again when it comes to it, and says what is wrong.
"""

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path

from myst_nb.core.execute import create_client
from myst_nb.core.read import create_nb_reader
from progress import CODE, bar


class Silent:
    """A logger that says nothing."""

    info = debug = warning = staticmethod(lambda *words, **more: None)


def run_ahead(app, env, pages):
    """Fill the cache with the outputs of all chapters that Sphinx is about to read."""
    sources = {page: Path(env.doc2path(page)) for page in pages}
    waiting = [page for page, path in sources.items() if path.suffix == ".md" and CODE in path.read_text(encoding="utf-8")]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = {pool.submit(run, env, sources[page]): page for page in waiting}
        say(waiting)
        for done in as_completed(running):
            waiting.remove(running[done])
            say(waiting)


def say(pages: list[str]) -> None:
    """Have the bar name the chapters that have not ended yet, the first ones of which are running."""
    for task in bar.task_ids:
        bar.update(task, description=f"running {', '.join(pages[:2])}{f' and {len(pages) - 2} more' if len(pages) > 2 else ''}")


def run(env, path: Path) -> None:
    """Have myst-nb take a chapter's outputs from the cache, or else make them and put them there."""
    text = path.read_text(encoding="utf-8")
    with suppress(Exception):  # which will be raised again where somebody listens
        reader = create_nb_reader(str(path), env.myst_config, env.mystnb_config, text)
        with create_client(reader.read(text), str(path), env.mystnb_config, Silent, reader.read_fmt):
            pass


def setup(app):
    """Run the chapters when the stale ones are known, and the account of the pages is open."""
    app.connect("env-before-read-docs", run_ahead, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
