"""What is taken off work that was handed in late, by nbgrader's own plugin and settings."""

from __future__ import annotations

from contextlib import chdir
from functools import cached_property

from nbgrader.apps import NbGrader
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Configurable

from .. import ROOT


class Late:
    """nbgrader's plugin for late work, as `AssignLatePenalties` and `LateSubmissionPlugin` are set in nbgrader_config.py.

    `parent` is the part of nbgrader that runs; without one the settings are read when the first late work is there.
    """

    def __init__(self, parent: Configurable | None = None):
        self._parent = parent

    @cached_property
    def _plugin(self) -> LateSubmissionPlugin:
        step = AssignLatePenalties(parent=self._parent or _settings())
        step.init_plugin()
        return step.plugin_inst

    def penalty(self, learner: str, score: float, seconds: float) -> float:
        """Return the points to take off a score of work that came so many seconds late: none below 0, and no more than there are."""
        if seconds <= 0:
            return 0.0
        return min(max(self._plugin.late_submission_penalty(learner, score, seconds) or 0.0, 0.0), score)


def _settings() -> NbGrader:
    app = NbGrader()
    with chdir(ROOT):
        app.load_config_file()
    return app
