"""The report on a class: figures that are what they are called, groups of equal wrong answers, and drafts of mistakes made from them."""

import ast
import random
from datetime import datetime, timedelta
from html import escape
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from autograder.authoring.draft import drafts
from autograder.errors import AuthorError
from autograder.exercise import reading as exercises
from autograder.exercise.known import read_known_answers
from autograder.grading import grade
from autograder.intake.reading import read_submission
from autograder.intake.submission import is_learner
from autograder.judging.answers import answers
from autograder.kit.outcome import Outcome, Verdict
from autograder.limits import Limits
from autograder.pages import analysis, plots
from autograder.pages.report import report_page
from autograder.pool.here import Here
from autograder.records.entry import Entry
from autograder.records.history import Step
from autograder.records.marks import Marks
from autograder.records.results import Result


@pytest.fixture(scope="module")
def similarity():
    return exercises.load("similarity")


def entry(exercise, learner: str, passed: set[str], came: str = "") -> Entry:
    def verdict(check: str, points: float) -> Verdict:
        outcome = Outcome.PASSED if check in passed else Outcome.WRONG
        return Verdict(check, outcome, points, test=f"test_{check}", reason="output: wrong", came="" if check in passed else came)

    return Entry(learner, exercise.name, {}, tuple(verdict(check, points) for check, points in exercise.checks.items()))


def test_difficulty_and_discrimination(similarity):
    """Twelve learners: the abler they are, the more they pass; one check is passed by the weaker half only."""
    checks = list(similarity.checks)
    entries = []
    for rank in range(12):
        passed = set(checks[1 : 1 + rank * (len(checks) - 1) // 11])
        entries.append(entry(similarity, f"learner{rank}", passed | ({checks[0]} if rank < 6 else set())))
    found = {check.name: check for check in analysis.checks_of(similarity.checks, entries)}
    turned, easy = found[checks[0]], found[checks[1]]
    assert (turned.passed, turned.judged, turned.share) == (6, 12, 0.5)
    assert turned.discrimination < -0.5 < 0.3 < easy.discrimination <= 1 and "look at the check" in turned.concern and not easy.concern
    assert analysis.checks_of(similarity.checks, entries[:5])[0].discrimination is None  # of so few it says nothing
    assert all(
        check.discrimination is None
        for check in analysis.checks_of(similarity.checks, [entry(similarity, str(n), set()) for n in range(12)])
    )


def test_histogram_counts_everybody_once_and_full_marks_last():
    assert analysis.histogram([0, 1.9, 2, 19.9, 20, 20], 20) == [2, 1, 0, 0, 0, 0, 0, 0, 0, 3]


def test_equal_wrong_answers_without_a_name_are_one_group(similarity):
    checks = set(similarity.checks)
    entries = [entry(similarity, name, checks - {"dot", "batch"}, "[1, 2]") for name in ("ada", "alan", "grace")]
    entries += [entry(similarity, "zoe", checks - {"dot"}, "[3, 4]"), entry(similarity, "bob", checks)]
    groups = analysis.unnamed(entries)
    assert [(group.learners, group.checks) for group in groups] == [(["ada", "alan", "grace"], ["dot", "batch"]), (["zoe"], ["dot"])]


def test_who_needs_help_comes_first(similarity):
    most = sum(similarity.checks.values())
    marks = {"strong": most, "weak": 2.0, "unread": None}
    results = [Result(entry(similarity, name, set()), Marks({"all": points})) for name, points in marks.items()]
    assert [each.name for each in analysis.learners_of(results, {similarity.name: most})] == ["unread", "weak", "strong"]


@pytest.fixture
def judged(forkserver):
    here = Here(forkserver)
    yield here
    here.close()


def handed_in(course, hand_in, exercise, below: str):
    def spoil(notebook):
        for cell in notebook.cells:
            if cell.id == exercise.answers[0].id:
                cell.source += f"\n\n{below}"

    hand_in("ada", exercise, change=spoil)
    return read_submission(course.handed_in("ada", exercise.name), "ada", exercise)


def test_a_draft_holds_what_is_wrong_and_what_that_needs(course, hand_in, single_head, judged, level, tmp_path):
    below = "import math as maths\nimport json\n\ndef helper(x):\n    return x * maths.e\n\ndef unused(x):\n    return x\n\ndef softmax(scores):\n    return helper(scores)\n"
    submission = handed_in(course, hand_in, single_head, below)
    text = drafts(single_head, submission, 7, Limits(), level, judged)
    (tmp_path / "mistakes.py").write_text(text)
    (known,) = read_known_answers(tmp_path / "mistakes.py")
    assert set(known.definitions) == {"helper", "softmax"} and "maths" in known.preamble and "json" not in known.preamble
    assert "softmax" in known.fails and "run\n# outside the sandbox" in text
    ast.parse("\n".join(answers(single_head, known).values()))


def test_there_is_no_draft_of_a_right_answer(course, hand_in, single_head, judged, level):
    submission = handed_in(course, hand_in, single_head, "def more(x):\n    return x")
    with pytest.raises(AuthorError, match="nothing that differs"):
        drafts(single_head, submission, 7, Limits(), level, judged)


@pytest.mark.parametrize("name", ["ada", "李小龙", "José", "Ada Lovelace", "O'Brien", "हिन्दी", "a.b@c-d", "Ömer_2"])
def test_names_of_all_scripts_are_names(name):
    assert is_learner(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a..b", "a/b", " ada", "ada ", "a  b", "-a", "a\nb", "a\u202eb", "Jose\u0301", "a" * 65, "李" * 64 + "a", "a*", "[a]", "a,b", "a+b", "<b>"]
)  # fmt: skip
def test_what_is_no_name_is_none(name):
    assert not is_learner(name)


def test_the_class_of_all_scripts_is_graded_and_shown(course, hand_in, command, single_head, browser: Browser):
    for name in ("李小龙", "José", "Ada Lovelace", "O'Brien"):
        hand_in(name, single_head, single_head.mistakes[0] if name == "José" else None)
    results = [Result(e) for e in grade(course, ["single_head"]).entries]
    page = browser.new_page()
    (course.root / "report.html").write_text(report_page(results), encoding="utf-8")
    page.goto((course.root / "report.html").as_uri())
    table = page.locator("details", has_text="each submission").last.locator("table")
    shown = [row.split("\t")[0] for row in table.locator("tbody tr").all_inner_texts()]
    assert sorted(shown) == sorted(["李小龙", "José", "Ada Lovelace", "O'Brien"])
    heading = table.get_by_role("button", name="learner", exact=True)
    heading.press("Enter")
    up = [row.split("\t")[0] for row in table.locator("tbody tr").all_inner_texts()]
    heading.press("Enter")
    assert [row.split("\t")[0] for row in table.locator("tbody tr").all_inner_texts()] == up[::-1] != up
    page.get_by_role("link", name="李小龙").first.click()
    assert page.get_by_role("heading", level=1).inner_text() == single_head.title
    command("nbgrader", "export", "--to", course.root / "grades.csv")
    assert "李小龙" in (course.root / "grades.csv").read_text(encoding="utf-8")
    page.close()


def test_a_mistake_that_fails_many_checks_is_told_once(course, hand_in, single_head):
    hand_in("ada", single_head, single_head.mistakes[0])
    (found,) = grade(course, ["single_head"]).entries
    page = course.feedback("ada", "single_head").read_text(encoding="utf-8")
    mistake, failed = single_head.mistakes[0], [v.check for v in found.verdicts if v.mistake]
    assert len(failed) > 8 and page.count(escape(mistake.title)) == 2  # at the head, with all that it fails, and in the first check
    assert f"One mistake fails {len(failed)} checks" in page and page.count("the same mistake as in softmax") == len(failed) - 1


def check(name: str, passed: int, discrimination: float | None) -> analysis.Check:
    return analysis.Check(name, 1.0, passed, 20, discrimination)


def drawn(picture: str, tag: str) -> list[dict[str, str]]:
    return [dict(each.attrib) | {"text": "".join(each.itertext())} for each in ElementTree.fromstring(picture).iter(tag)]


def test_map_puts_each_check_where_its_figures_are():
    checks = [check("easy", 20, 0.2), check("hard", 2, 0.6), check("odd", 10, -0.4), check("unknown", 20, None)]
    dots = {each["text"].partition(":")[0]: each for each in drawn(plots.check_map(checks), "circle")}
    across = {name: float(dot["cx"]) for name, dot in dots.items()}
    up = {name: -float(dot["cy"]) for name, dot in dots.items()}
    assert sorted(across, key=across.get) == ["hard", "odd", "easy"] and sorted(up, key=up.get) == ["odd", "easy", "hard"]
    assert up["easy"] - up["odd"] == pytest.approx(0.6 / 0.4 * (up["hard"] - up["easy"]), abs=0.5)
    assert {name for name, dot in dots.items() if "worse" in dot["class"]} == {"odd"}
    assert plots.check_map([check("unknown", 20, None)]) is None


@pytest.mark.parametrize("seed", range(5))
def test_labels_of_the_map_cover_neither_dots_nor_each_other(seed):
    """Eighteen checks that most of a class passes, as they come."""
    chance = random.Random(seed)
    checks = [check(f"check{n}", chance.randint(8, 20), round(chance.uniform(0.3, 0.9), 2)) for n in range(18)]
    checks += [check(f"same{n}", 8, 0.97) for n in range(6)]
    picture = plots.check_map(checks)
    texts = [each for each in drawn(picture, "text") if each["text-anchor"] == "middle" and "%" not in each["text"]]
    assert sorted(int(number) for each in texts for number in each["text"].split(", ")) == list(range(1, 25))
    assert "19, 20, 21, 22, 23, 24" in [each["text"] for each in texts]
    labels = [(float(each["x"]), float(each["y"]) - 4, 1 + 3.2 * len(each["text"])) for each in texts]
    dots = [(float(each["cx"]), float(each["cy"])) for each in drawn(picture, "circle")]
    assert len(dots) == len(labels)
    near = [(a, b) for n, a in enumerate(labels) for b in labels[:n] if abs(a[0] - b[0]) < a[2] + b[2] - 1 and abs(a[1] - b[1]) < 9]
    covered = [(a, b) for a in labels for b in dots if abs(a[0] - b[0]) < a[2] + 3 and abs(a[1] - b[1]) < 8]
    assert len(near) + len(covered) <= 1  # where there is no room at all


def test_bars_are_as_high_as_they_count():
    bars = drawn(plots.distribution([0, 2, 0, 8, 0, 0, 0, 0, 0, 4], 20), "rect")
    assert [float(bar["height"]) / float(bars[0]["height"]) for bar in bars] == pytest.approx([1, 4, 2], abs=0.05)


def test_trend_is_the_mean_of_what_each_learner_had_at_that_time():
    def step(day: int, points: float | None) -> Step:
        return Step(datetime(2026, 11, day), points, "", most=20)

    histories = [[step(1, 4.0), step(3, 20.0)], [step(2, 8.0)], [step(1, None), step(4, None)]]
    moments = analysis.moments_of(histories)
    assert [(each.at.day, each.mean, each.learners) for each in moments] == [(1, 4.0, 1), (2, 6.0, 2), (3, 14.0, 2), (4, 14.0, 2)]
    heights = [float(dot["cy"]) for dot in drawn(plots.trend(moments, 20), "circle")]
    assert heights[0] > heights[1] > heights[2] == heights[3]
    assert plots.trend(moments[:1], 20) is None
    many = analysis.moments_of([[Step(datetime(2026, 10, 1) + timedelta(hours=n), float(n), "") for n in range(500)]])
    assert len(many) == 21 and [each.mean for each in many][-1] == 499  # one for each day
    for last in (9.0, 1.0):  # two runs within a second: the later one counts, whichever gave more
        assert [each.mean for each in analysis.moments_of([[step(1, None), step(1, 5.0), step(1, last)]])] == [last]


def test_report_shows_what_changed_the_latest_first(similarity):
    steps = {
        (name, similarity.name): [Step(datetime(2026, 11, 1), 3.0, "it was handed in"), Step(datetime(2026, 11, day), 5.0, why)]
        for name, day, why in (("ada", 2, "the answers changed"), ("<b>bob", 3, "a person changed marks"))
    }
    page = report_page([Result(entry(similarity, "ada", set()), Marks({"all": 5.0}))], steps=steps)
    table = page.partition('id="history"')[2]
    assert table.index("a person changed marks") < table.index("the answers changed") and "<b>bob" not in page
    assert "it was handed in" not in table and "http" not in page.replace("http-equiv", "")
