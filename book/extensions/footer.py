"""Complete the footer of every page: the version, and where the source is if `_config.yml` names a repository."""

import tomllib
from pathlib import Path

import yaml

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def complete(app, config):
    """Fill in `{version}` and `{source}` in the footer's text."""
    version = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"]
    options = config.html_theme_options
    options["extra_footer"] = options["extra_footer"].format(version=version, source=_source(Path(app.srcdir) / "_config.yml"))


def _source(settings: Path) -> str:
    """Return the link to the source; empty where none is named (Sphinx is told of jupyter-book's own repository then)."""
    repository = yaml.safe_load(settings.read_text(encoding="utf-8")).get("repository", {}).get("url")
    return f' <a href="{repository}">Source</a>.' if repository else ""


def setup(app):
    """Listen before Sphinx compares the configuration with the one of the build before."""
    app.connect("config-inited", complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
