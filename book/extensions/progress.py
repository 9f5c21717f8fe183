"""Say how far the book is: which page is being run, read or written, and how many there are.

`build.py` draws the bar where there is a terminal. Each page whose code was run leaves a line, and a cell that raised
an error is shown last, because what other pages and paragraphs miss for want of it would bury it. Sphinx's warnings
are Sphinx's own.
"""

import os
import sys
import time
from pathlib import Path

import nbformat
from myst_nb.sphinx_ import NbMetadataCollector
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

CODE = "{code-cell}"
# A kernel warns at each start that it talks without encryption, though it talks to this process only. The kernel of
# this folder is the same one, is found first, and speaks of errors only.
KERNELS = Path(__file__).parent

console = Console(soft_wrap=True, highlight=False)
bar = Progress(
    BarColumn(),
    MofNCompleteColumn(),
    TimeElapsedColumn(),
    TextColumn("{task.description}", markup=False),
    console=console,
    transient=True,
    disable=not console.is_terminal,
    # Where warnings go to a file, they must not be taken to the terminal with the bar.
    redirect_stderr=sys.stderr.isatty(),
)


class Account:
    """What has become of the pages in this build."""

    def __init__(self):
        self.begun = time.time()
        self.task = bar.add_task("looking for what has changed", total=None)
        self.pages = self.read = self.run = self.written = 0
        self.failed = []

    def begin(self, app, env, pages):
        """Take down how many pages there are to read."""
        self.pages = len(pages)
        bar.update(self.task, total=self.pages)

    def begin_page(self, app, page, source):
        """Name the page that is next."""
        bar.update(self.task, description=f"{'running' if CODE in source[0] else 'reading'} {page}")

    def end_page(self, app, doctree):
        """Count the page, and tell how long its code ran if that was now."""
        self.read += 1
        bar.advance(self.task)
        page, ran = app.env.docname, NbMetadataCollector.get_exec_data(app.env, app.env.docname)
        if not ran or ran["mtime"] < self.begun:
            return
        self.run += 1
        outcome = f"ran in {ran['runtime']:.1f} s" if ran["succeeded"] else f"stopped: {ran['error']}"
        console.print(f"{self.read:>{len(str(self.pages))}} of {self.pages}  {page} {outcome}", markup=False)
        if not ran["succeeded"]:
            self.failed.append(where_it_failed(app, page) or f"{app.env.doc2path(page)}: {ran['traceback']}")

    def write_page(self, app, page, template, context, doctree):
        """Count the page that is written; those that Sphinx adds have no document."""
        if doctree is not None:
            self.written += 1
            bar.update(self.task, description=f"writing {page}")

    def end(self, app, error):
        """Sum up; show which cells have failed."""
        bar.stop()
        console.print(f"pages: {self.read} read, {self.run} of them run, {self.written} written")
        for failure in self.failed:
            Console(stderr=True, soft_wrap=True).print(Text.from_ansi(f"\n{failure}"))


def where_it_failed(app, page: str) -> str | None:
    """Return file, line and traceback of the cell that raised an error; None if none did, as when its time was up."""
    ran = Path(app.outdir).parent / "jupyter_execute" / f"{page}.ipynb"  # myst-nb's own place for it
    notebook = nbformat.read(ran, as_version=4)
    for cell, line in zip(notebook.cells, notebook.metadata.get("source_map", []), strict=False):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                return f"{app.env.doc2path(page)}:{line + 1}: this cell raised an error\n" + "\n".join(output.traceback)
    return None


def setup(app):
    """Listen to what Sphinx does, from the first page to after the last repair."""
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, [str(KERNELS), os.environ.get("JUPYTER_PATH")]))
    account = Account()
    app.connect("env-before-read-docs", account.begin)
    app.connect("source-read", account.begin_page)
    app.connect("doctree-read", account.end_page)
    app.connect("html-page-context", account.write_page)
    app.connect("build-finished", account.end, priority=999)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
