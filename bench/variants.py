"""The sandbox with one layer taken out, for measuring only.

The product has no switch for that. A zygote runs a copy of our modules that lies in its root file system: here
that copy gets a function of the same name that does nothing, or the fork server is configured to do less.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

from autograder.sandbox import forkserver
from autograder.sandbox.client import Zygote
from autograder.sandbox.levels import Level
from autograder.sandbox.rootfs import RootFs

STAY_HOME = "def mount_scratch(*args):\n    os.chdir(HOME)"


@dataclass(frozen=True)
class Variant:
    """A level, and what is taken out of it: functions by module, and what its config says instead."""

    name: str
    level: Level
    replaced: dict[str, str] = field(default_factory=dict)
    config: dict = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        return not self.replaced and not self.config


def _nothing(name: str) -> str:
    return f"def {name}(*args):\n    pass"


NO_CALLS = {"confine": _nothing("filter_calls")}
NO_LIMITS = {"worker": _nothing("_limit")}
NO_RIGHTS = {"confine": _nothing("drop_rights")}
VARIANTS = [
    Variant("none", Level.none),
    Variant("none without rlimits", Level.none, NO_LIMITS),
    Variant("landlock", Level.landlock),
    Variant("landlock without Landlock", Level.landlock, {"confine": _nothing("lock_files")}),
    Variant("landlock without seccomp", Level.landlock, NO_CALLS),
    Variant("landlock without rlimits", Level.landlock, NO_LIMITS),
    Variant("bubblewrap", Level.bubblewrap),
    Variant("bubblewrap without own namespaces", Level.bubblewrap, config={"unshared": False}),
    Variant("bubblewrap without fresh folders", Level.bubblewrap, {"confine": STAY_HOME}),
    Variant("bubblewrap without seccomp", Level.bubblewrap, NO_CALLS),
    Variant("bubblewrap without dropping rights", Level.bubblewrap, NO_RIGHTS),
    Variant("bubblewrap without rlimits", Level.bubblewrap, NO_LIMITS),
]


@contextmanager
def zygote(variant: Variant) -> Iterator[Zygote]:
    """Yield a zygote of this variant; raises `Unavailable`."""
    with patch.object(forkserver, "RootFs", lambda level: _Altered(level, variant)):
        started = Zygote(variant.level)
    with started:
        yield started


class _Altered(RootFs):
    """A root file system with something taken out."""

    def __init__(self, level: Level, variant: Variant):
        self._variant = variant
        super().__init__(level)

    def _copy_modules(self) -> None:
        super()._copy_modules()
        for module, text in self._variant.replaced.items():
            path = self.path / "autograder" / "sandbox" / f"{module}.py"
            head = text.split("(")[0] + "("
            if f"\n{head}" not in path.read_text():  # it would be measured as if it were taken out
                raise RuntimeError(f"sandbox/{module}.py has no {head!r} any more: mend bench/variants.py")
            path.write_text(f"{path.read_text()}\n\n{text}\n")

    def _config(self, *args, **more) -> dict:
        missing = set(self._variant.config) - set(more)
        if missing:
            raise RuntimeError(f"RootFs._config is not asked for {missing} any more: mend bench/variants.py")
        return super()._config(*args, **{**more, **self._variant.config})
