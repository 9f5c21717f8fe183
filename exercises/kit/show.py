"""Verdicts as text and as a coloured box."""

from __future__ import annotations

from html import escape

from .outcome import Outcome, Verdict

# JupyterLab's own colours, which follow its theme; where a page has none, those of a light one.
TEXT, SOFT = "var(--jp-content-font-color1,#1f2328)", "var(--jp-content-font-color2,#57606a)"
STYLE = {
    Outcome.PASSED: ("#2da44e", "#f0fff4"),
    Outcome.NO_ANSWER: (SOFT, "#f6f8fa"),
}
NOT_YET = ("#d4761b", "#fff8f0")


def as_text(verdict: Verdict, below: str = "") -> str:
    """Return a verdict as plain text, one thing to a line."""
    lines = [f"{verdict.check}: {verdict.outcome.value}"]
    if verdict.mistake:
        lines += [verdict.mistake.title, verdict.mistake.hint]
    elif verdict.question:
        lines.append(verdict.question)
    lines += [f"{name}: {text}" for name, text in evidence(verdict, in_full=True)]
    return "\n".join([*lines, below] if below else lines)


def evidence(verdict: Verdict, in_full: bool = False) -> list[tuple[str, str]]:
    """Return what a verdict rests on, as names and texts, without what is empty.

    `in_full` is for those who may see hidden tests. Notebooks of learners have no hidden tests.
    """
    rows = [
        ("what differs" if verdict.outcome is Outcome.WRONG else "what happened", in_full and verdict.in_full or verdict.reason),
        ("put in", verdict.given),
        ("expected", verdict.expected),
        ("came", verdict.came),
        ("note", verdict.note),
    ]
    return [(name, text) for name, text in rows if text]


def as_html(verdict: Verdict, picture: str = "", below: str = "") -> str:
    """Return a verdict as a coloured box; everything in it is escaped, except `picture`, which is HTML of ours."""
    ink, paper = STYLE.get(verdict.outcome, NOT_YET)
    body = "".join(
        f"<tr style='background:none'><td style='vertical-align:top;text-align:left;padding:2px 12px 2px 0;color:{SOFT}'>{name}</td>"
        f"<td style='text-align:left;padding:2px 0'><pre style='margin:0;white-space:pre-wrap;color:{TEXT};background:none'>{escape(text)}</pre></td></tr>"
        for name, text in evidence(verdict, in_full=True)
    )
    table = f"<table style='border:none;background:none;margin:0'>{body}</table>" if body else ""
    return (
        f"<div style='border-left:4px solid {ink};background:var(--jp-layout-color1,{paper});color:{TEXT};padding:8px 14px;max-width:46em'>"
        f"<b>{escape(verdict.check)}: {escape(verdict.outcome.value)}</b>"
        f"{_lead(verdict)}{picture}{table}{_foot(below)}</div>"
    )


def _foot(below: str) -> str:
    return f"<div style='margin-top:6px;color:{SOFT};font-size:90%'>{escape(below)}</div>" if below else ""


def _lead(verdict: Verdict) -> str:
    if verdict.mistake:
        return f"<p style='margin:6px 0'>{escape(verdict.mistake.title)} <i>{escape(verdict.mistake.hint)}</i></p>"
    return f"<p style='margin:6px 0'>{escape(verdict.question)}</p>" if verdict.question else ""


def display(forms: dict[str, str]) -> None:
    """Show something in the notebook, which chooses the form; elsewhere print its text."""
    try:
        from IPython import get_ipython
        from IPython.display import display as show
    except ImportError:
        print(forms["text/plain"])
        return
    if get_ipython() is None:
        print(forms["text/plain"])
    else:
        show(forms, raw=True)
