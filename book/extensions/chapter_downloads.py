"""Offer each chapter as a notebook: the cells that its page shows, in order, with the modules and tables that they use.

It is an archive, because a figure needs the book's own `figures.py`, and some figures are drawn from measured tables. The text stays on the page:
in JupyterLab the directives of Sphinx would be noise.
"""

import re
import zipfile
from pathlib import Path

import jupytext
import nbformat
from docutils import nodes
from exercise_downloads import LINK, entry_of, leave_out
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.util.osutil import relative_uri

FOLDER = "_downloads/chapters"
OPENING = "} After this chapter you can"  # the box that every chapter has, and no other page
NOT_SHOWN = {"remove-cell", "remove-input"}
IMPORTED = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
TABLE = re.compile(r"\w+\.(?:csv|npz)")
HEADING = re.compile(r"^#+ .*", re.MULTILINE)
LEAD = "This is the code that the page of this chapter shows. It runs from top to bottom where numpy, torch and matplotlib are installed."
WORDS = ("The code", "a zip file: a notebook with every cell that is shown here, and what it needs to run.")


class ChapterDownload(nodes.Element):
    """The link in the document."""


def is_chapter(path: Path) -> bool:
    return path.suffix == ".md" and OPENING in path.read_text(encoding="utf-8")


def notebook_of(path: Path) -> nbformat.NotebookNode:
    """Return what the page of a chapter shows, as a notebook: its headings, and its cells without their outputs."""
    cells = []
    for cell in jupytext.read(path).cells:
        tags = set(cell.metadata.get("tags", []))
        if cell.cell_type == "markdown":
            cells += [new_markdown_cell(heading) for heading in HEADING.findall(cell.source)]
        elif cell.cell_type == "code" and not tags & NOT_SHOWN:
            cells.append(new_code_cell(cell.source, metadata={"tags": sorted(tags)} if tags else {}))
    cells.insert(1, new_markdown_cell(LEAD))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # otherwise drawn at random, and another archive each time
    return new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})


def files_for(path: Path) -> dict[str, bytes]:
    """Return the files of a chapter's archive by name: its notebook, and each module and table of the book that a shown cell uses."""
    notebook = notebook_of(path)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    named = [path.parent / f"{name}.py" for name in IMPORTED.findall(code)] + [
        path.parent / "measured" / name for name in TABLE.findall(code)
    ]
    files = {each.relative_to(path.parent).as_posix(): each.read_bytes() for each in sorted(set(named)) if each.is_file()}
    return {f"{path.stem}.ipynb": nbformat.writes(notebook).encode(), **files}


def write_archive(path: Path, folder: Path) -> Path:
    """Write the archive of a chapter into a folder and return where it is; the same files give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{path.stem}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files_for(path).items():
            target.writestr(entry_of(f"{path.stem}/{name}"), content)
    return archive


def add_to_chapter(app, doctree):
    """Put the link at the end of a chapter."""
    path = Path(app.env.doc2path(app.env.docname))
    section = doctree.next_node(nodes.section)
    if section is not None and is_chapter(path):
        section.append(ChapterDownload())


def visit_download(translator, node):
    """Write the link as HTML."""
    name = translator.builder.current_docname
    href = relative_uri(translator.builder.get_target_uri(name), f"{FOLDER}/{Path(name).name}.zip")
    link = LINK.format(href=href, words=WORDS[0], use=WORDS[1])
    translator.body.append(f'<aside class="downloads" aria-label="Download">\n{link}\n</aside>\n')
    raise nodes.SkipNode


def publish_archives(app, error):
    """Write the archives beside the finished pages."""
    if error is None and app.builder.format == "html":
        for path in [Path(app.env.doc2path(name)) for name in sorted(app.env.found_docs)]:
            if is_chapter(path):
                write_archive(path, Path(app.outdir) / FOLDER)


def setup(app):
    """Register the link and the archives."""
    app.add_node(ChapterDownload, html=(visit_download, None), latex=(leave_out, None), text=(leave_out, None))
    app.connect("doctree-read", add_to_chapter)
    app.connect("build-finished", publish_archives)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
