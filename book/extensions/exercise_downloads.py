"""Offer the exercises: one archive with all of them, and each notebook on its own page.

The directive `{exercise-downloads}` draws the box with the archive. A page of an exercise gets its box by itself,
because its notebook is also read in JupyterLab, where a directive would be a line of noise. Where `_config.yml` names a
repository on GitHub, that box opens the notebook on Colab too, and on a JupyterHub with nbgitpuller if `exercise_hub` names one.
"""

import zipfile
from html import escape
from pathlib import Path
from urllib.parse import quote, urlencode

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

FOLDER = "exercises"
ARCHIVE = "_downloads/attention-by-hand-exercises.zip"
# One folder to unpack into.
ARCHIVE_ROOT = "attention-by-hand"
# The oldest time that the format can hold: the same files give the same archive.
FIXED_TIME = (1980, 1, 1, 0, 0, 0)

LINK = '<p><a class="downloads-link" href="{href}" download>{words}</a><span>{use}</span></p>'
AWAY = '<p><a class="downloads-link away" href="{href}">{words}</a><span>{use}</span></p>'
ARCHIVE_WORDS = ("All exercises", "a zip file; the README in it says how to start.")
NOTEBOOK_WORDS = ("This notebook", "to read it or to replace a lost copy; its checks come with the zip file.")
COLAB = "https://colab.research.google.com/github"
GITHUB = "https://github.com/"
COLAB_WORDS = ("Open on Colab", "run its first cell there, which fetches the checks; sign in with Google.")
HUB_WORDS = ("Open on the hub", "with all exercises beside it; what you write stays there.")


class Downloads(nodes.Element):
    """The box in the document; `notebook` is the page's own notebook, or empty."""


class ExerciseDownloads(SphinxDirective):
    """`{exercise-downloads}`: the box with the archive of all exercises."""

    def run(self):
        """Return the box."""
        return [Downloads(notebook="")]


def add_to_exercise(app, doctree):
    """Put the box below the title of an exercise's page."""
    name = app.env.docname
    title = doctree.next_node(nodes.title)
    if not name.startswith(f"{FOLDER}/") or title is None:
        return
    source = Path(app.env.doc2path(name)).relative_to(app.srcdir).as_posix()
    title.parent.insert(title.parent.index(title) + 1, Downloads(notebook=source))


def _link(page: str, target: str, words: tuple[str, str]) -> str:
    return LINK.format(href=relative_uri(page, target), words=words[0], use=words[1])


def elsewhere(settings: dict, hub: str, notebook: str) -> list[tuple[str, tuple[str, str]]]:
    """Return the addresses at which a notebook can be opened without an installation, each with its words; none without a repository."""
    repository = settings.get("repository") or {}
    url, branch = repository.get("url", "").rstrip("/").removesuffix(".git"), repository.get("branch", "main")
    found = []
    if url.startswith(GITHUB):
        found.append((f"{COLAB}/{url.removeprefix(GITHUB)}/blob/{quote(branch)}/{notebook}", COLAB_WORDS))
    if url and hub:
        wanted = {"repo": url, "branch": branch, "urlpath": f"lab/tree/{url.rsplit('/', 1)[1]}/{notebook}"}
        found.append((f"{hub.rstrip('/')}/hub/user-redirect/git-pull?{urlencode(wanted)}", HUB_WORDS))
    return found


def visit_downloads(translator, node):
    """Write the box as HTML."""
    page = translator.builder.get_target_uri(translator.builder.current_docname)
    links = [_link(page, ARCHIVE, ARCHIVE_WORDS)]
    if node["notebook"]:
        # Sphinx publishes every page's source there.
        links.insert(0, _link(page, f"_sources/{node['notebook']}", NOTEBOOK_WORDS))
        places = elsewhere(_settings(translator.builder.srcdir), translator.config.exercise_hub, node["notebook"])
        links += [AWAY.format(href=escape(href), words=words, use=use) for href, (words, use) in places]
    body = "\n".join(links)
    translator.body.append(f'<aside class="downloads" aria-label="Downloads">\n{body}\n</aside>\n')
    raise nodes.SkipNode


def _settings(folder: Path) -> dict:
    path = Path(folder) / "_config.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}


def leave_out(translator, node):
    """A book on paper has nothing to download."""
    raise nodes.SkipNode


def _left_by_tools(part: str) -> bool:
    """Say whether a file or folder belongs to a tool: checkpoints, caches, an environment."""
    return part.startswith(".") or part == "__pycache__"


def files_of(folder: Path) -> list[Path]:
    """Return the folder's files in a fixed order, without what tools leave behind."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return sorted(file for file in files if not any(map(_left_by_tools, file.relative_to(folder).parts)))


def write_archive(folder: Path, archive: Path):
    """Write the folder into the archive; the same files give the same bytes."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for file in files_of(folder):
            target.writestr(entry_of(f"{ARCHIVE_ROOT}/{folder.name}/{file.relative_to(folder).as_posix()}"), file.read_bytes())


def entry_of(name: str) -> zipfile.ZipInfo:
    """Return the head of an archive's file, the same at any time and for any user."""
    entry = zipfile.ZipInfo(name, FIXED_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def publish_archive(app, error):
    """Write the archive beside the finished pages."""
    if error is None and app.builder.format == "html":
        write_archive(Path(app.srcdir) / FOLDER, Path(app.outdir) / ARCHIVE)


def setup(app):
    """Register the directive, the box and the archive."""
    app.add_config_value("exercise_hub", "", "html")
    app.add_node(Downloads, html=(visit_downloads, None), latex=(leave_out, None), text=(leave_out, None))
    app.add_directive("exercise-downloads", ExerciseDownloads)
    app.connect("doctree-read", add_to_exercise)
    app.connect("build-finished", publish_archive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
