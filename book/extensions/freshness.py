"""Rebuild what has changed, and nothing else; build the same bytes from the same sources.

Sphinx looks at pages. It does not look at the style sheet, at these extensions, at the scripts of figures, or at the Python modules and tables
that a chapter reads, and the execution cache looks only at a chapter's own cells. A digest of each of these goes into the
configuration, where a change of value makes Sphinx write, or read, every page again.
"""

import hashlib
import os
import shutil
from importlib.metadata import version
from pathlib import Path

# What the environment would else decide for the chapters' kernels, and with it bytes of the site.
FIXED = {
    "SOURCE_DATE_EPOCH": "1577836800",  # 2020-01-01: whatever stamps a file with the time of the build (SVG figures do) uses this moment
    "OMP_NUM_THREADS": "1",  # several would add up in another order; and on these small matrices they wait for each other
}
STAMP = "executed_with"
BOOK = Path(__file__).parents[1]
# Their releases change a chapter's printed numbers or its figures.
SEEN_IN_OUTPUTS = ("numpy", "matplotlib", "torch", "myst-nb")


def digest(files: list[Path], words: tuple[str, ...] = ()) -> str:
    """Return a digest of the files' names and contents, and of some words."""
    total = hashlib.sha256(" ".join(words).encode())
    for file in sorted(files):
        total.update(file.relative_to(BOOK).as_posix().encode())
        total.update(file.read_bytes())
    return total.hexdigest()


def _written_with() -> str:
    """Return the digest of everything that shapes a page without being a page."""
    folders = [BOOK / "site_static", BOOK / "explorables", BOOK / "extensions"]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return digest([file for file in files if file.suffix != ".pyc"])


def _executed_with() -> str:
    """Return the digest of everything that shapes a chapter's outputs without being a chapter."""
    releases = tuple(f"{name} {version(name)}" for name in SEEN_IN_OUTPUTS)
    return digest([*BOOK.glob("*.py"), *BOOK.glob("measured/*.csv"), *BOOK.glob("measured/*.npz")], releases)


def take_digests(app, config):
    """Put both digests where Sphinx compares them with the build before."""
    config.site_written_with = _written_with()
    config.site_executed_with = _executed_with()


def drop_stale_outputs(app):
    """Empty the execution cache if the chapters' modules are not those that filled it."""
    cache = Path(app.outdir).parent / ".jupyter_cache"  # jupyter-book's own place for it
    stamp = cache / STAMP
    if cache.exists() and (not stamp.exists() or stamp.read_text() != app.config.site_executed_with):
        shutil.rmtree(cache)
    cache.mkdir(parents=True, exist_ok=True)
    stamp.write_text(app.config.site_executed_with)


def forget_warned_build(app, error):
    """Make a build with warnings start over next time; otherwise the next one would find nothing to do and pass."""
    # Sphinx itself forgets a build that an exception ended. It counts warnings, but has no public name for the count.
    if error is None and app._warncount:
        (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)


def setup(app):
    """Fix clock and threads for this process and the kernels that it starts, and watch the inputs."""
    os.environ.update(FIXED)
    app.add_config_value("site_written_with", "", "html")
    app.add_config_value("site_executed_with", "", "env")
    app.connect("config-inited", take_digests)
    app.connect("builder-inited", drop_stale_outputs)
    app.connect("build-finished", forget_warned_build)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
