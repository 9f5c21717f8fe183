"""Build the book: `python book/extensions/build.py`, which `make site` runs.

This is `jupyter-book build . -W --keep-going` without its chatter: what it shows is the progress (`progress.py`), and
every warning and error in full. Exits 1 after a warning, 2 when an error ended the build, 130 after Ctrl-C.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from jupyter_book.sphinx import build_sphinx
from progress import bar, console
from sphinx.util.console import color_terminal, nocolor
from yaml import YAMLError

ROOT = Path(__file__).resolve().parents[2]


def build(book: Path) -> int:
    """Return the exit status; the pages are in `_build/html` below the book."""
    if not color_terminal():
        nocolor()
    config = book / "_config.yml"
    try:
        with bar:
            done = interruptible(lambda: run(book, config))
    except YAMLError as error:
        print(f"{config}: {error}", file=sys.stderr)
        return 2
    if done == 0:
        console.print(f"the book: {(book / '_build/html/index.html').relative_to(book)}")
        return 0
    if isinstance(done, Exception):
        print("The book could not be built; the reason is above.", file=sys.stderr)
        return 2
    print("The book has warnings, and here a warning is an error: mend what is named above, then run this again.", file=sys.stderr)
    return 1


def run(book: Path, config: Path) -> int | Exception:
    """Return what jupyter-book does: 0, 1 after a warning, or the error that ended the build."""
    return build_sphinx(
        book,
        book / "_build" / "html",
        noconfig=True,
        path_config=config,
        confoverrides={"external_toc_path": (book / "_toc.yml").as_posix(), "latex_individualpages": False},
        warningiserror=True,
        keep_going=True,
        quiet=True,
    )


def interruptible(work):
    """Return what the work returns, done in a thread, and leave at once on Ctrl-C.

    In the main thread nbclient takes Ctrl-C for itself while a kernel runs: it ends the kernel, and what follows from
    that is told as an error of the book, in a hundred lines.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            # Without its kernel the thread has nothing to wait for, and it must say nothing of that.
            bar.stop()
            print("Interrupted!", file=sys.stderr, flush=True)
            for process in psutil.Process().children(recursive=True):
                process.kill()
            os._exit(130)


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT))
