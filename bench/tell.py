"""Which layer of the sandbox stops an attack: the one without which it gets through.

Nothing is tried that only rlimits bound, and the walls of bubblewrap stand in every run.
"""

from __future__ import annotations

from contextlib import ExitStack

from autograder.kit.outcome import JudgeFailed, Stopped
from autograder.machine.attacks import Attack, Surroundings, attack
from autograder.sandbox import wire
from autograder.sandbox.client import Zygote
from autograder.sandbox.levels import Level

from .variants import VARIANTS, Variant, zygote

LAYERS = [variant for variant in VARIANTS if variant.level is Level.bubblewrap and not variant.whole]
SEVERAL = "more than one layer: each alone is enough, or bubblewrap's walls"


class Teller:
    """Runs attacks with one layer out at a time; the zygote of one that got through is not used again."""

    def __init__(self, around: Surroundings):
        self._around = around
        self._zygotes: dict[str, tuple[ExitStack, Zygote]] = {}

    def __enter__(self) -> Teller:
        return self

    def __exit__(self, *error) -> None:
        for variant in LAYERS:
            self._end(variant)

    def stops(self, one: Attack) -> str:
        """Return the layers without which, alone, the attack gets through."""
        missed = [variant.name.partition("without ")[2] for variant in LAYERS if self._gets_through(one, variant)]
        return ", ".join(missed) if missed else SEVERAL

    def _gets_through(self, one: Attack, variant: Variant) -> bool:
        try:
            through = bool(attack(one, self._zygote(variant), self._around))
        except (JudgeFailed, Stopped, wire.Closed, OSError):  # the sandbox itself went to pieces
            through = True
        if through:
            self._around.damage()
            self._end(variant)
        return through

    def _zygote(self, variant: Variant) -> Zygote:
        if variant.name not in self._zygotes:
            stack = ExitStack()
            self._zygotes[variant.name] = stack, stack.enter_context(zygote(variant))
        return self._zygotes[variant.name][1]

    def _end(self, variant: Variant) -> None:
        if variant.name in self._zygotes:
            self._zygotes.pop(variant.name)[0].close()
