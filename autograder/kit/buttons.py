"""Buttons below an answer that has run: its checks, their hints, and what comes next. They are widgets, since HTML cannot ask a kernel."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

from .show import display

STALE = "check-buttons"  # a class of ours, by which a page finds the place
# A notebook that is opened again has no widgets in it, but the sentence "Error displaying widget" where they were.
HIDE = (
    f"<style>.jp-OutputArea-child:has(.{STALE}) + .jp-OutputArea-child > .jp-OutputArea-output.jupyter-widgets:not(:has(.widget-box))"
    f"{{display:none}}</style><span class='{STALE}'></span>"
)


@dataclass(frozen=True)
class Press:
    """What a button says, what it does, and what is shown beside the pointer."""

    label: str
    action: Callable[[], None]
    tip: str


def offer(presses: list[Press], words: str) -> None:
    """Show buttons; where there are no widgets, `words`."""
    if os.environ.get("NBGRADER_EXECUTION"):  # nobody is there to press one
        return
    try:
        bundle = _row(presses)
    except ImportError:
        display({"text/plain": words})
        return
    display({"text/html": HIDE, "text/plain": ""})
    display({**bundle, "text/plain": words})


def _row(presses: list[Press]) -> dict:
    """Return what shows a row of buttons, with room below it for what they show."""
    from ipywidgets import Button, HBox, Layout, Output, VBox

    below = Output()
    row = HBox(layout=Layout(flex_flow="row wrap"))
    for press in presses:
        button = Button(description=press.label, tooltip=press.tip, layout=Layout(width="auto"))
        button.on_click(lambda _, press=press: _in_main_thread(lambda: _fill(below, press.action)))
        row.children += (button,)
    return VBox([row, below])._repr_mimebundle_()


def _in_main_thread(action: Callable[[], None]) -> None:
    """Do something where cells run, since an interruption reaches code there and nowhere else: a front end may send what presses to a thread of its own."""
    if threading.current_thread() is threading.main_thread():
        action()
        return
    from IPython import get_ipython

    get_ipython().kernel.io_loop.add_callback(action)


def _fill(below, action: Callable[[], None]) -> None:
    """Show below the buttons what an action shows, in the place of what was there."""
    from IPython.utils.capture import capture_output

    with capture_output() as shown:
        try:
            action()
        except ValueError as error:
            print(error)
    below.outputs = (
        *_printed(shown.stdout),
        *({"output_type": "display_data", "data": each.data, "metadata": each.metadata} for each in shown.outputs),
    )


def _printed(text: str) -> tuple[dict, ...]:
    return ({"output_type": "stream", "name": "stdout", "text": text},) if text else ()
