"""Draw every formula while the site is built.

A page then shows its mathematics without a script, offline, and without the jump that a late script causes.
KaTeX runs inside this process, on QuickJS. A formula that it can't read is a Sphinx warning at the formula's place.
"""

import functools
import json
from pathlib import Path

import quickjs
from docutils import nodes
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

KATEX = Path(__file__).parents[1] / "site_static" / "katex" / "katex.min.js"
ENTRY = "function draw(tex, options) { return katex.renderToString(tex, JSON.parse(options)) }"

log = logging.getLogger(__name__)


class FormulaError(ValueError):
    """KaTeX can't read a formula; the message is KaTeX's own."""


@functools.cache
def _draw_in_katex():
    """Return KaTeX's drawing function, loaded once per build."""
    context = quickjs.Context()
    context.eval(KATEX.read_text(encoding="utf-8"))
    context.eval(ENTRY)
    # The function alone would outlive its context.
    return context, context.get("draw")


@functools.cache
def draw(tex: str, display: bool, macros: str) -> str:
    """Return the HTML of one formula; `macros` is a JSON object from macro to meaning."""
    # strict: what LaTeX itself would not take is a mistake in the source, not a matter of taste.
    options = {"displayMode": display, "strict": "error", "macros": json.loads(macros)}
    try:
        return _draw_in_katex()[1](tex, json.dumps(options))
    except quickjs.JSException as error:
        raise FormulaError(str(error).splitlines()[0]) from error


def _formula(translator, node, display: bool) -> str:
    """Return the HTML for a math node, or the source in its place with a warning."""
    tex = node.astext()
    macros = json.dumps(translator.builder.config.katex_macros, sort_keys=True)
    try:
        return draw(tex, display, macros)
    except FormulaError as error:
        log.warning("%s in the formula %r", error, tex[:80], location=node, type="katex")
        return f'<code class="katex-error">{translator.encode(tex)}</code>'


def visit_inline(translator, node):
    """Write a formula that stands in a sentence."""
    html = _formula(translator, node, display=False)
    translator.body.append(f'<span class="math">{html}</span>')
    raise nodes.SkipNode


def visit_display(translator, node):
    """Write a formula that stands alone, with its number if it has one."""
    html = _formula(translator, node, display=True)
    # A wide formula scrolls in its own box, so the keyboard must be able to reach the box.
    html = html.replace('<span class="katex-display">', '<span class="katex-display" tabindex="0">', 1)
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    if node.get("number"):
        # The number that links show: counted over the whole book, not over the page.
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append(f"{html}</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer under the name that `html_math_renderer` uses."""
    app.add_html_math_renderer(
        "katex_prerender",
        inline_renderers=(visit_inline, None),
        block_renderers=(visit_display, None),
    )
    app.add_config_value("katex_macros", {}, "html", types=(dict,))
    app.add_css_file("katex/katex.min.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
