"""nbgrader's settings for this course: where things are, and the autograder's steps in its pipeline."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from nbgrader.server_extensions.formgrader.handlers import template_path as formgrader_templates  # noqa: E402

from autograder.authoring.release import write_sources  # noqa: E402
from autograder.exercise import reading as exercises  # noqa: E402  (the path comes first)
from autograder.exercise.cache import clear_if_changed  # noqa: E402
from autograder.exercise.notebook import stub_config  # noqa: E402
from autograder.files import follow_group, is_shared  # noqa: E402
from autograder.plugins.autograde import take_back_once  # noqa: E402
from autograder.plugins.for_nbgrader import lay_out  # noqa: E402
from autograder.plugins.quick import answer_from_fewer_rows  # noqa: E402
from autograder.records.course import Course  # noqa: E402
from autograder.records.database import put_commands_on_path, read_schema_version_here, wait_for_locks  # noqa: E402

put_commands_on_path()
read_schema_version_here()
wait_for_locks()
answer_from_fewer_rows()
c = get_config()  # noqa: F821  (given by nbgrader)

course = Course()
follow_group(course.root)
c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.groupshared = is_shared(course.root)
c.CourseDirectory.source_directory = str(course.root / "source")
c.CourseDirectory.release_directory = str(ROOT / "exercises")
c.CourseDirectory.submitted_directory = str(course.for_nbgrader)  # what is read
c.ZipCollectApp.CourseDirectory.submitted_directory = str(course.submitted)  # what is written
c.CourseDirectory.course_id = "attention-by-hand"
c.ExchangeFactory.release_assignment = "autograder.plugins.exchange.ReleaseAssignment"
c.ExchangeFactory.collect = "autograder.plugins.exchange.Collect"
c.ExchangeFactory.release_feedback = "autograder.plugins.exchange.ReleaseFeedback"
c.CourseDirectory.autograded_directory = str(course.root / "autograded")
c.CourseDirectory.feedback_directory = str(course.root / "feedback")
c.CourseDirectory.db_url = course.gradebook_url

c.merge(stub_config())
c.Autograde.sanitize_preprocessors = ["autograder.plugins.autograde.RebuildNotebook"]
c.Autograde.autograde_preprocessors = ["autograder.plugins.autograde.JudgeInSandbox"]
c.Autograde.pre_convert_hook = "autograder.plugins.autograde.refuse_early"

c.GenerateFeedback.exporter_class = "autograder.plugins.autograde.FeedbackExporter"
c.GenerateFeedback.preprocessors = []
c.GenerateFeedback.force = True  # a page is there as soon as something is judged, and a person may have changed a mark since
# Before nbgrader's own templates: the formgrader then fetches no script from elsewhere.
c.HTMLExporter.extra_template_basedirs = [str(ROOT / "autograder" / "plugins" / "formgrader"), formgrader_templates]
c.ExportApp.plugin_class = "autograder.plugins.export.SafeCsv"
c.ZipCollectApp.extractor_plugin = "autograder.plugins.collect.Extractor"
c.ZipCollectApp.collector_plugin = "autograder.plugins.collect.Collector"
c.ZipCollectApp.collect_directory_structure = str(course.root / "downloaded" / "{assignment_id}" / "{collect_step}")

# A server reads this at each request. nbgrader reads notebooks; ours are scripts. Files that are already right are not written again.
clear_if_changed(exercises.SOLUTIONS)
write_sources(course.root / "source", course.settings.points)
take_back_once(course)
lay_out(course)

c.Collector.platform, c.Collector.zone = course.settings.platform, course.settings.zone
if course.settings.late:
    c.LateSubmissionPlugin.penalty_method = course.settings.late

# What a course sets for itself, such as a plugin of its own for late work.
if (course.root / "nbgrader_config.py").is_file():
    load_subconfig("nbgrader_config.py", path=str(course.root))  # noqa: F821  (given by traitlets)
