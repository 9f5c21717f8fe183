"""The foot of every page: the version, both licences, and the source where its address is known."""

import sys
import tomllib
from types import SimpleNamespace

import pytest

from tests.site.site_layout import ROOT, page_names

sys.path.insert(0, str(ROOT / "book" / "extensions"))

import footer  # noqa: E402

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


@pytest.mark.parametrize(
    "settings, shown",
    [
        ("title: A book\n", "1{version}. Text"),
        ("repository: {url: 'https://example.org/book'}\n", '1{version}. <a href="https://example.org/book">Source</a>. Text'),
    ],
)
def test_the_source_is_linked_only_where_its_address_is_known(tmp_path, settings, shown):
    (tmp_path / "_config.yml").write_text(settings)
    # What jupyter-book tells Sphinx where no repository is named: its own.
    options = {"extra_footer": "1{version}.{source} Text", "repository_url": "https://example.org/jupyter-book"}
    footer.complete(SimpleNamespace(srcdir=tmp_path), SimpleNamespace(html_theme_options=options))
    assert options["extra_footer"] == shown.format(version=VERSION)


def test_every_page_names_version_and_licences(site):
    for name in page_names():
        page = (site / f"{name}.html").read_text(encoding="utf-8")
        foot = page.split('<div class="extra_footer">')[1].split("</div>")[0]
        assert f"Attention by Hand {VERSION}." in foot
        assert 'rel="license" href="https://creativecommons.org/licenses/by/4.0/"' in foot and "BSD 3-Clause" in foot
