"""A chapter's outputs, twice: those that `make site` left, and those of another execution, made once in a run of the tests."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import freshness
import nbclient
import nbformat
import pytest
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.cache.main import JupyterCacheBase

from tests.book.chapters import BOOK, read

CACHE = Path("_build") / ".jupyter_cache"

# Asked last, in the kernel itself: a busy machine makes a chapter slow, but not expensive.
CPU_CELL = "import time\nprint(time.process_time())"

# What may differ between two machines that build the same book.
ELSEWHERE = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "7"}


@dataclass(frozen=True)
class Execution:
    """A chapter with its outputs, and the CPU seconds that its kernel took."""

    notebook: nbformat.NotebookNode
    seconds: float

    @classmethod
    def again(cls, chapter: str, once) -> "Execution":
        """Return the chapter executed once more; `once` has only the first test that asks wait for it."""
        found = json.loads(once(f"execution-of-{chapter}", lambda: json.dumps(_executed(chapter))))
        return cls(nbformat.from_dict(found["notebook"]), found["seconds"])


def _executed(chapter: str) -> dict:
    notebook = read(chapter)
    notebook.cells.append(nbformat.v4.new_code_cell(CPU_CELL))
    folder = {"metadata": {"path": str(BOOK)}}
    client = nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3", resources=folder)
    client.execute(env={**os.environ, **freshness.FIXED, **ELSEWHERE})
    seconds = float(notebook.cells.pop().outputs[0].text)
    return {"notebook": notebook, "seconds": seconds}


def in_the_site(chapter: str) -> nbformat.NotebookNode:
    """Return the chapter's code cells with the outputs that the site shows."""
    try:
        with _outputs(BOOK.parent) as cache:
            return cache.get_cache_bundle(cache.match_cache_notebook(read(chapter)).pk).nb
    except KeyError:
        pytest.fail(f"the site isn't built with this {chapter}: run `make site` first", pytrace=False)


def remember(executions: dict[str, Execution], folder: Path) -> None:
    """Have a build below `folder` show these outputs, as if it had executed the chapters itself."""
    with _outputs(folder) as cache:
        for chapter, execution in executions.items():
            bundle = CacheBundleIn(execution.notebook, str(BOOK / f"{chapter}.md"), data={"execution_seconds": execution.seconds})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    (folder / CACHE / freshness.STAMP).write_text(freshness._executed_with())


@contextmanager
def _outputs(folder: Path) -> Iterator[JupyterCacheBase]:
    """Open the outputs that a build below `folder` keeps; jupyter-cache itself leaves its database open."""
    cache = get_cache(folder / CACHE)
    try:
        yield cache
    finally:
        cache.db.dispose()
