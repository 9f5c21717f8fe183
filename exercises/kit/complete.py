"""Tab completion of the names of checks: `check("so` becomes `check("softmax`."""

from __future__ import annotations

import re
from collections.abc import Iterable

ASKED = re.compile(r"\b(?:check|hint)\(\s*(?:name\s*=\s*)?([\"'])(\w*)$")


def beginning(text: str) -> str | None:
    """Return what has been typed of a check's name at the end of a line, or None where no such name stands."""
    found = ASKED.search(text)
    return found[2] if found else None


def complete(names: Iterable[str]) -> None:
    """Have IPython complete the names of checks in the calls of `check` and `hint`; an IPython that has no way for that is left as it is."""
    try:
        from IPython import get_ipython
        from IPython.core.completer import SimpleCompletion, context_matcher

        matchers = get_ipython().Completer.custom_matchers
    except (ImportError, AttributeError):
        return
    known = list(names)

    @context_matcher(identifier="names of checks")
    def matcher(context):
        typed = beginning(context.text_until_cursor)
        fitting = [] if typed is None else [name for name in known if name.startswith(typed)]
        found = {"completions": [SimpleCompletion(text=name, type="check") for name in fitting], "suppress": bool(fitting)}
        return found if typed is None else {**found, "matched_fragment": typed}

    matchers[:] = [each for each in matchers if getattr(each, "matcher_identifier", "") != matcher.matcher_identifier]
    matchers.append(matcher)
